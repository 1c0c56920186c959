import { chmod, cp, mkdir, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { readContainerfile } from '../containerfile.ts';
import { npmInstalls } from '../npm.ts';
import type { Image } from './image.ts';

interface Team {
  /** The agent, `agent.ts`. */
  readonly agent: string;
  /** A backend of authentication, `auth.ts`, that exports `Auth`. */
  readonly auth?: string;
  /** The packages that the agent brings along, as `package.json` names them. */
  readonly dependencies: Readonly<Record<string, string>>;
}

/**
 * Puts the project of a team on top of the image, as its Dockerfile does: its packages are installed by its own lock elsewhere, and
 * copied into the image with its files. @returns the path of its `service.json`.
 */
export async function addTeam(image: Image, name: string, { agent, auth, dependencies }: Team): Promise<string> {
  const project = await image.makeFolder(`${name}-project`);
  const service = {
    agent: './agent.ts:graph',
    auth: auth === undefined ? null : { method: 'custom', path: './auth.ts:Auth' },
  };
  await writeFile(join(project, 'agent.ts'), agent);
  if (auth !== undefined) await writeFile(join(project, 'auth.ts'), auth);
  await writeFile(join(project, 'package.json'), JSON.stringify({ name, private: true, type: 'module', dependencies }));
  await writeFile(join(project, 'service.json'), JSON.stringify({ ...service, authorization: null }));
  await npmInstalls(project, 'install', '--prefer-offline', '--package-lock-only');
  await npmInstalls(project, 'ci', '--prefer-offline', '--omit=dev');
  const agents = join(image.folder, 'agents');
  await chmod(image.folder, 0o755);
  await mkdir(agents, { recursive: true });
  await rename(project, join(agents, name));
  return join(agents, name, 'service.json');
}

/**
 * Does to the image what a Containerfile FROM it does: its copies, below `/app`. @returns the variables that it sets, which name
 * paths of the laid out image.
 */
export async function addContainerfile(image: Image, path: string): Promise<Readonly<Record<string, string>>> {
  const { copies, env } = await readContainerfile(path);
  const toImage = (named: string): string => named.replace(/^\/app\//, `${image.folder}/`);
  await chmod(image.folder, 0o755);
  for (const { sources, target } of copies) {
    await mkdir(toImage(target), { recursive: true });
    for (const source of sources) await cp(join(dirname(path), source), join(toImage(target), basename(source)));
  }
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, toImage(value)]));
}
