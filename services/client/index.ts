export { createClient, type Client, type ClientOptions } from './client.ts';
export { RequestError, type ErrorDetail } from './errors.ts';
export { answerCall, remoteCallsIn, type RemoteCall, type RemoteTool } from './remote-tools.ts';
export type { ConnectionChange, FollowOptions } from './run-events.ts';
export { textOf } from './messages.ts';
export type * from './shapes.ts';
