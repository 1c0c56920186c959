import { connectivityState, type Client } from '@grpc/grpc-js';
import type { Call } from '../call.ts';
import { openClient } from './channel.ts';
import type { WireSecurity } from './security.ts';

/**
 * Whether a connection to a server at `address` stands by the deadline; no when the signal fires before. Nothing is called, so that the
 * server counts and logs nothing.
 */
export async function isReachable(
  address: string,
  security: WireSecurity,
  { deadline, signal }: Pick<Call, 'deadline' | 'signal'>,
): Promise<boolean> {
  const client = openClient(address, security);
  const close = (): void => client.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    return !signal.aborted && (await connects(client.getChannel(), deadline));
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
}

/** Gives no once the channel is closed. */
const connects = (channel: ReturnType<Client['getChannel']>, deadline: number): Promise<boolean> =>
  new Promise((resolve) => {
    const check = (late?: Error): void => {
      const state = channel.getConnectivityState(false);
      if (state === connectivityState.READY) resolve(true);
      else if (late || state === connectivityState.SHUTDOWN) resolve(false);
      else channel.watchConnectivityState(channel.getConnectivityState(true), deadline, check);
    };
    check();
  });
