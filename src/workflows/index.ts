export { relay } from './relay';
