import { cp, mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readContainerfile } from '../containerfile.ts';
import { npmInstalls, run } from '../npm.ts';
import { useTarballs, type Tarballs } from './project.ts';

const team = fileURLToPath(new URL('../../deploy/team', import.meta.url));

interface OwnImage {
  /** What its WORKDIR holds. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** The program that its ENTRYPOINT names. */
  readonly program: string;
  /** What its CMD gives the program. */
  readonly args: readonly string[];
}

/**
 * Does in two empty folders what `deploy/team/own-image/Containerfile` does in its base: the copies from the context, then the commands.
 * Only our packages come from their tarballs.
 */
export async function layOutOwnImage(place: string, tarballs: Tarballs): Promise<OwnImage> {
  const [context, folder] = [join(place, 'context'), join(place, 'image')];
  await cp(team, context, { recursive: true });
  await mkdir(folder);
  const own = join(context, 'own-image');
  await useTarballs(own, tarballs);
  await npmInstalls(own, 'install', '--package-lock-only');
  const { copies, runs, env, command } = await readContainerfile(join(own, 'Containerfile'));
  const [first, ...later] = copies;
  const copy = async (sources: readonly string[]): Promise<void> => {
    for (const source of sources) await cp(join(context, source), join(folder, basename(source)));
  };
  await copy(first?.sources ?? []);
  for (const line of runs) await run(folder, 'sh', '-c', line);
  for (const { sources } of later) await copy(sources);
  const [program = '', ...args] = command;
  return { folder, env, program: program.replace(/^\/srv\/agents/, folder), args };
}
