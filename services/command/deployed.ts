import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { ServiceFile } from '@agent-workflow/runtime/service-file';

/** What the folder of `service.json` has for an image: lines to print, and warnings. */
interface Deployed {
  readonly lines: readonly string[];
  readonly warnings: readonly string[];
}

const lockFiles = ['package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'yarn.lock', 'bun.lock'];

/** Looks at the lock file and the `Dockerfile` beside `service.json`. A project without a manifest needs no lock file. */
export function deployedFrom({ folder, agent, agents }: Pick<ServiceFile, 'folder' | 'agent' | 'agents'>): Deployed {
  const lock = lockFiles.find((name) => existsSync(join(folder, name)));
  const docker = textAt(join(folder, 'Dockerfile'));
  const modules = (agents ?? (agent === undefined ? [] : [{ location: agent }])).map(({ location }) =>
    moduleOf(location),
  );
  const warnings: string[] = [];
  if (lock === undefined && textAt(join(folder, 'package.json')) !== undefined)
    warnings.push('there is no lock file: two installations may get other versions of what the agents load');
  if (docker !== undefined) warnings.push(...faultsOf(docker, { folder, modules, lock }));
  return {
    lines: [`lock     ${lock ?? 'none'}`, `image    ${docker === undefined ? 'no Dockerfile' : 'Dockerfile'}`],
    warnings,
  };
}

interface Project {
  readonly folder: string;
  readonly modules: readonly string[];
  readonly lock: string | undefined;
}

/** What an image of a `Dockerfile` would lack. */
function faultsOf(docker: string, { folder, modules, lock }: Project): readonly string[] {
  const steps = docker.replaceAll(/\\\r?\n/g, ' ').split('\n');
  const copied = steps.flatMap((step) => sourcesOf(step));
  const files = modules.filter((module) => existsSync(join(folder, module))).map((module) => relative('.', module));
  const faults = [...new Set(files)]
    .filter((file) => !copied.some((source) => covers(source, file)))
    .map((file) => `Dockerfile copies no "${file}", which service.json names`);
  const installs = steps.some((step) => /^\s*RUN\b.*\bnpm (?:install|i|ci)\b/i.test(step));
  if (installs && lock !== undefined && !copied.some((source) => covers(source, lock)))
    faults.push(`Dockerfile installs packages and copies no ${lock}: its image may get other versions`);
  return faults;
}

/** The sources of a step that copies from the project. One that copies from another stage does not. */
function sourcesOf(step: string): readonly string[] {
  const [instruction = '', ...words] = step.trim().split(/\s+/);
  if (!/^(?:COPY|ADD)$/i.test(instruction) || words.some((word) => word.startsWith('--from='))) return [];
  const paths = words.filter((word) => !word.startsWith('--')).map((word) => word.replaceAll(/[[\]",]/g, ''));
  return paths.filter((path) => path !== '').slice(0, -1);
}

/** Whether a source of a copy holds a file: the folder that holds it, the file itself, or a pattern of its beginning. */
function covers(source: string, file: string): boolean {
  const path = source.replace(/^\.?\//, '').replace(/\/$/, '');
  if (path === '' || path === '.') return true;
  const star = path.search(/[*?]/);
  return star === -1 ? file === path || file.startsWith(`${path}/`) : file.startsWith(path.slice(0, star));
}

const moduleOf = (location: string): string => location.slice(0, Math.max(0, location.lastIndexOf(':')));

function textAt(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
