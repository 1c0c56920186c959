import { processEnv } from '@agent-workflow/kit/env';
import { usable } from './provisioned.ts';
import { leasePrivate, leaseShared, type PrivateLease } from './real-lease.ts';
import type { Recipe, RunOptions } from './real-process.ts';

/** A real server, as tests come by it. */
export interface Launcher<S> {
  readonly title: string;
  /** Why there is none, in a sentence; `undefined` when there is one. */
  readonly absence: () => string | undefined;
  /**
   * Resolves once the server answers. Disposal lets go of it.
   * @throws Error with the absence, or with what the server printed when it does not start.
   */
  readonly open: () => Promise<S & AsyncDisposable>;
}

/** A server that nobody else uses: it can be made to fail. Disposal ends it and removes its data. */
export type Private<S> = S & Faults;

type Faults = Pick<PrivateLease, 'kill' | 'stop' | 'freeze' | 'thaw' | 'restart' | 'wipe' | 'readLog'>;

interface LauncherOptions<S> {
  readonly recipe: Recipe;
  /** What users need to reach the server that listens on the port. */
  readonly reach: (port: number) => S;
  /** The variable that names a server which runs already, and what its text means. */
  readonly given: { readonly variable: string; readonly read: (text: string) => S };
}

/** The server that the environment names; else the provisioned one, which all processes share while it runs. */
export function createLauncher<S>({ recipe, reach, given: { variable, read } }: LauncherOptions<S>): Launcher<S> {
  const { server, title } = recipe;
  const text = (): string => processEnv()[variable]?.trim() ?? '';
  const absence = (): string | undefined =>
    text() !== '' || usable(server) !== undefined
      ? undefined
      : `${title} is absent: set ${variable}, or run \`npm run servers\` and set REQUIRE_SERVERS=1`;
  return {
    title,
    absence,
    open: async () => {
      const url = text();
      if (url !== '') return { ...read(url), [Symbol.asyncDispose]: () => Promise.resolve() };
      refuseWhen(absence());
      const lease = await leaseShared({ server });
      return { ...reach(lease.port), [Symbol.asyncDispose]: () => lease[Symbol.asyncDispose]() };
    },
  };
}

interface PrivateOptions<S> extends Pick<LauncherOptions<S>, 'recipe' | 'reach'> {
  readonly options?: Omit<RunOptions, 'isDurable'>;
}

/** The provisioned server, started once for each `open`: one that the environment names is not ours to kill. */
export function privately<S>({ recipe: { server, title }, reach, options }: PrivateOptions<S>): Launcher<Private<S>> {
  const absence = (): string | undefined =>
    usable(server) === undefined
      ? `${title} is absent: run \`npm run servers\` and set REQUIRE_SERVERS=1 for one that tests may kill`
      : undefined;
  return {
    title,
    absence,
    open: async () => {
      refuseWhen(absence());
      const lease = await leasePrivate(server, { isDurable: true, ...options });
      return { ...lease, ...reach(lease.port) };
    },
  };
}

function refuseWhen(absence: string | undefined): void {
  if (absence !== undefined) throw new Error(absence);
}
