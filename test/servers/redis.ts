import { exchange } from './real-probe.ts';
import type { Recipe } from './real-process.ts';
import { createLauncher, privately, type Launcher, type Private } from './real.ts';

export interface Redis {
  /** `redis://host:port`; users keep to keys with a prefix of their own. */
  readonly url: string;
}

/** One that is restarted has every write it acknowledged; the shared one writes nothing to disk. */
export const redisRecipe: Recipe = {
  server: 'redis',
  title: 'Redis',
  portCount: 1,
  prepare: async ({ program, data, ports: [port], options: { isDurable } }) => ({
    command: program,
    args: [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', data, '--daemonize', 'no', '--save', ''],
      ...(isDurable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no']),
    ],
  }),
  // While it loads old data it answers with an error.
  isReady: async (port) => (await exchange(port, 'PING\r\n')).toString().startsWith('+PONG'),
};

const reach = (port: number): Redis => ({ url: `redis://127.0.0.1:${port}` });

/** The one at `REDIS_URL`, else the one that all tests share. */
export const redis: Launcher<Redis> = createLauncher({
  recipe: redisRecipe,
  reach,
  given: { variable: 'REDIS_URL', read: (url) => ({ url }) },
});

/** One of the caller's own, to be killed and restarted: it keeps what it acknowledged. */
export const privateRedis = (): Launcher<Private<Redis>> => privately({ recipe: redisRecipe, reach });
