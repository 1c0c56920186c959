import { lookup as resolveName, type LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { Agent, type ClientRequestArgs } from 'node:http';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as secure } from 'node:tls';
import type { MayReach } from './reachable.ts';

/** Why a request was not sent, or got no reply. Its message may be shown to who named the address. */
export class PostFailure extends Error {
  override readonly name = 'PostFailure';
}

/** Connections to receivers. One that was used is kept for a while, and the next request to the same host and port may take it. */
interface Connections extends Disposable {
  readonly plain: Agent;
  readonly encrypted: Agent;
}

/** How long a connection is kept that nobody uses, in milliseconds, and how many of them: to one host and port, and of each kind in all. */
const keptMs = 4000;
const keptAtHost = 4;
const keptInAll = 128;
/** How long a connection may take to be made, in milliseconds. */
const connectMs = 10_000;

/**
 * Makes connections through no proxy. The address is checked where its name is looked up and once more on the connected socket, before a byte is
 * sent: an address in place of a name is not looked up. A connection that is kept was checked when it was made.
 */
export function createConnections(mayReach: MayReach): Connections {
  const making = new Set<Socket>();
  const parts = { mayReach, making };
  const plain = new CheckedAgent(async (to) => openPlain(parts, to));
  const encrypted = new CheckedAgent(async (to) => openEncrypted(parts, to));
  return {
    plain,
    encrypted,
    [Symbol.dispose]: () => {
      for (const socket of making) socket.destroy(tooLong());
      plain.destroy();
      encrypted.destroy();
    },
  };
}

interface Making {
  readonly mayReach: MayReach;
  /** The sockets that do not stand yet. */
  readonly making: Set<Socket>;
}

interface To {
  readonly host: string;
  readonly port: number;
}

class CheckedAgent extends Agent {
  readonly #open: (to: To) => Promise<Socket>;

  constructor(open: (to: To) => Promise<Socket>) {
    super({ keepAlive: true, maxFreeSockets: keptAtHost, timeout: keptMs });
    this.#open = open;
  }

  override createConnection(
    { host, port }: ClientRequestArgs,
    onMade: (error: Error | null, socket: Duplex) => void = () => undefined,
  ): undefined {
    this.#open({ host: host ?? '', port: Number(port) }).then(
      (socket) => onMade(null, socket),
      // Node's type has no place for a failure alone.
      (error: unknown) => onMade(error as Error, undefined as never),
    );
  }

  /** @returns whether the connection is kept: Node's type says nothing of it. */
  override keepSocketAlive(socket: Duplex): boolean {
    let kept = 0;
    for (const sockets of Object.values(this.freeSockets)) kept += sockets?.length ?? 0;
    const keep: (one: Duplex) => unknown = super.keepSocketAlive.bind(this);
    return kept < keptInAll && keep(socket) === true;
  }
}

async function openPlain({ mayReach, making }: Making, { host, port }: To): Promise<Socket> {
  if (isIP(host) !== 0 && !mayReach(host)) throw refused();
  const socket = connect({ host, port, lookup: guarded(mayReach), autoSelectFamily: true, noDelay: true });
  await untilMade(socket, { event: 'connect', making });
  if (mayReach(socket.remoteAddress ?? '')) return socket;
  socket.destroy();
  throw refused();
}

async function openEncrypted(parts: Making, to: To): Promise<Socket> {
  const plain = await openPlain(parts, to);
  const name = isIP(to.host) === 0 && { servername: to.host };
  const socket = secure({ socket: plain, ...name, ALPNProtocols: ['http/1.1'] });
  await untilMade(socket, { event: 'secureConnect', making: parts.making });
  return socket;
}

/** @throws the error of the socket, or PostFailure when it takes too long; it is destroyed then. */
async function untilMade(
  socket: Socket,
  { event, making }: Pick<Making, 'making'> & { readonly event: string },
): Promise<void> {
  socket.on('error', ignore);
  making.add(socket);
  const timer = setTimeout(() => socket.destroy(tooLong()), connectMs);
  try {
    await once(socket, event);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    making.delete(socket);
    clearTimeout(timer);
  }
}

/** Errors are seen by what waits for the socket; one that comes later says nothing. */
const ignore = (): void => undefined;

export const tooLong = (): PostFailure => new PostFailure('it took too long');
const refused = (): PostFailure => new PostFailure('the address is not one of the public internet');

/** Looks a name up, and leaves out the addresses that may not be reached. */
const guarded =
  (mayReach: MayReach): LookupFunction =>
  (hostname, options, callback) => {
    resolveName(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error) {
        callback(error, '');
        return;
      }
      const [first, ...rest] = found.filter(({ address }) => mayReach(address));
      if (!first) callback(refused(), '');
      else if (options.all === true) callback(null, [first, ...rest]);
      else callback(null, first.address, first.family);
    });
  };
