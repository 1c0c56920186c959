import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** The connection of a request that asks for a WebSocket. */
interface Upgrade {
  readonly socket: Socket;
  /** What came behind the head of the request. */
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/** Notes that a request asks for a WebSocket. It passes the steps of any request, and its row takes the connection, or it is refused. */
export const noteUpgrade = (request: IncomingMessage, upgrade: Upgrade): void => void upgrades.set(request, upgrade);

/** `undefined` for a request that asks for no WebSocket. */
export const upgradeOf = (request: IncomingMessage): Upgrade | undefined => upgrades.get(request);
