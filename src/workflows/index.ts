export { consumer } from './consumer';
export { deliverEvent } from './deliverEvent';
export { relay } from './relay';
