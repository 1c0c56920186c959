import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { makeWorkspace, startStandalone } from './standalone.ts';

/** What a process of the service holds, garbage collected. */
export interface Holdings {
  /** Replies that are not over, streams among them. */
  readonly replies: number;
  /** Requests that have calls to services, or follow a run. */
  readonly calls: number;
  readonly sockets: number;
  /** In the heap, and what it keeps outside of it. */
  readonly heapBytes: number;
  readonly residentBytes: number;
}

/** The service in a process of its own that says what it holds. */
export interface Watched extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly isAlive: () => boolean;
  readonly holdings: () => Promise<Holdings>;
}

const main = fileURLToPath(new URL('./watched-main.ts', import.meta.url));

/** Starts it on a data folder of its own. `agent` is a file of `test/agents` without its ending; `service` adds to `service.json`. */
export async function startWatched(
  agent: string,
  env: Readonly<Record<string, string>> = {},
  service: Readonly<Record<string, unknown>> = {},
): Promise<Watched> {
  await using opened = new AsyncDisposableStack();
  const workspace = opened.use(await makeWorkspace(agent, service));
  const started = opened.use(await startStandalone({ ...workspace.env, LOG_LEVEL: 'error', ...env }, main));
  const everything = opened.move();
  return {
    url: started.url,
    port: Number(new URL(started.url).port),
    isAlive: () => started.child.exitCode === null && started.child.signalCode === null,
    holdings: async () => {
      using listening = new DisposableStack();
      const ending = listening.adopt(new AbortController(), (controller) => controller.abort());
      const exit = once(started.child, 'exit', { signal: ending.signal });
      started.child.send('holdings');
      const ended = exit.then(([code, signal]: unknown[]): never => {
        throw new Error(
          `the service ended with ${String(code ?? signal)}: ${started.complaint() || started.lines.join('\n')}`,
        );
      });
      const [holdings] = (await Promise.race([once(started.child, 'message', { signal: ending.signal }), ended])) as [
        Holdings,
      ];
      return holdings;
    },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}
