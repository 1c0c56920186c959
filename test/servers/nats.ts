import { exchange } from './real-probe.ts';
import type { Recipe } from './real-process.ts';
import { createLauncher, privately, type Launcher, type Private } from './real.ts';

export interface Nats {
  /** `nats://host:port`, with JetStream; users keep to streams and subjects with a name of their own. */
  readonly url: string;
}

export const natsRecipe: Recipe = {
  server: 'nats',
  title: 'NATS',
  portCount: 1,
  prepare: async ({ program, data, ports: [port] }) => ({
    command: program,
    args: ['--addr', '127.0.0.1', '--port', String(port), '--jetstream', '--store_dir', data],
  }),
  isReady: async (port) => (await exchange(port)).toString().startsWith('INFO '),
};

const reach = (port: number): Nats => ({ url: `nats://127.0.0.1:${port}` });

/** The one at `NATS_URL`, else the one that all tests share. */
export const nats: Launcher<Nats> = createLauncher({
  recipe: natsRecipe,
  reach,
  given: { variable: 'NATS_URL', read: (url) => ({ url }) },
});

/** One of the caller's own, to be killed and restarted; `wipe` while it is down loses every stream. */
export const privateNats = (): Launcher<Private<Nats>> => privately({ recipe: natsRecipe, reach });
