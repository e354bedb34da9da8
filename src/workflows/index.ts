export { consumer } from './consumer';
export { deliverEvent } from './deliverEvent';
export { maintenance } from './maintenance';
export { relay } from './relay';
