/** PostgreSQL, NATS and Temporal for development and tests. The library itself never needs this module. */
export { fetchServers } from './findBinaries';
export { startNats, type NatsOptions } from './nats';
export { portsFromEnvironment, PREFERRED_PORTS, type Ports } from './ports';
export { startPostgres, type PostgresOptions } from './postgres';
export type { Server } from './server';
export { ServerError } from './serverError';
export { startServers, type Servers, type ServersOptions } from './startServers';
export { startTemporal, type TemporalOptions, type TemporalServer } from './temporal';
