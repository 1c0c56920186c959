import { execFile, spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { copyContext } from './context.ts';

const run = promisify(execFile);

/** Whom the image runs as, where the test may become somebody else. */
const user = process.getuid?.() === 0 ? { uid: 10_001, gid: 10_001 } : {};

/** What the image holds, laid out as its Dockerfile does. Disposal removes it. */
export interface Image extends AsyncDisposable {
  readonly folder: string;
  /** The folder of the tarballs that it was made from. */
  readonly tarballs: string;
  /** What was printed at the end: how large it is. */
  readonly size: string;
  /** A folder that the image's user may write to. */
  readonly makeFolder: (name: string) => Promise<string>;
  /** Starts what the image's command names, its arguments after it, with these variables and no others. Resolves when it says where it listens. */
  readonly start: (main: string, env: Readonly<Record<string, string>>) => Promise<Running>;
  /** Runs what the image's command names to its end. */
  readonly run: (
    main: string,
    env: Readonly<Record<string, string>>,
  ) => Promise<{ code: number | null; output: string }>;
}

/** A process of the image. Disposal kills it. */
interface Running extends AsyncDisposable {
  /** `host:port`. */
  readonly listensOn: string;
  /** SIGTERM; gives the exit code. */
  readonly stop: () => Promise<number | null>;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

export async function openImage(): Promise<Image> {
  const place = await mkdtemp(join(tmpdir(), 'agent-workflow-image-'));
  const folder = join(place, 'app');
  await chmod(place, 0o755);
  const [context, tarballs] = [join(place, 'source'), join(place, 'tarballs')];
  await copyContext(context);
  await run(process.execPath, [join(context, 'deploy/pack/main.ts'), tarballs]);
  const { stdout } = await run(join(context, 'deploy/image.sh'), [folder, tarballs], { maxBuffer: 16 * 1024 * 1024 });
  const begin = (main: string, env: Readonly<Record<string, string>>): Child =>
    spawn(join(folder, 'node_modules/.bin/node'), main.split(' '), {
      ...user,
      cwd: folder,
      env: { NODE_ENV: 'production', TMPDIR: join(place, 'tmp'), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const makeFolder = async (name: string): Promise<string> => {
    const made = join(place, name);
    await mkdir(made);
    if (user.uid !== undefined) await chown(made, user.uid, user.gid);
    return made;
  };
  await makeFolder('tmp');
  return {
    folder,
    tarballs,
    size: stdout.trimEnd().split('\n').at(-1) ?? '',
    makeFolder,
    start: async (main, env) => watch(main, begin(main, env)),
    run: async (main, env) => {
      const child = begin(main, env);
      const output = collect(child);
      const [code] = (await once(child, 'close')) as [number | null];
      return { code, output: output() };
    },
    [Symbol.asyncDispose]: async () => {
      await run('chmod', ['-R', 'u+w', place]);
      await rm(place, { recursive: true });
    },
  };
}

function collect(child: Child): () => string {
  let output = '';
  const keep = (chunk: string): void => void (output += chunk);
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  return () => output;
}

/** @throws Error with what it printed when it ends instead of listening. */
async function watch(main: string, child: Child): Promise<Running> {
  const output = collect(child);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const listening = Promise.withResolvers<string>();
  createInterface(child.stdout).on('line', (line) => {
    const [, address] = /listens on (?:http:\/\/)?(\S+)$/.exec(line) ?? [];
    if (address !== undefined && !line.startsWith('{')) listening.resolve(address);
  });
  void exited.then(([code]) =>
    listening.reject(new Error(`${main} ended with ${code ?? 'a signal'} instead of listening:\n${output()}`)),
  );
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    return (await exited)[0];
  };
  return {
    listensOn: await listening.promise,
    stop: () => end('SIGTERM'),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await end('SIGKILL');
    },
  };
}
