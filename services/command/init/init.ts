import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { projectFiles, type Language } from './project.ts';

/** Files that a project may have before. */
const harmless = new Set(['.git', '.gitignore', 'README.md', 'LICENSE']);

interface InitOptions {
  readonly language: Language;
  /** Of the packages that the project depends on. */
  readonly version: string;
  /** The folder of the clone that this command is part of. Its packages need not be in a registry. */
  readonly clone: string | undefined;
}

/** Writes a project into a folder that holds none yet. @returns 1 when it holds one, or cannot be written. */
export function init(folder: string, options: InitOptions): number {
  const target = resolve(folder);
  try {
    return initAt(target, folder, options);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    process.stderr.write(`no project can be written there: ${error.message}\n`);
    return 1;
  }
}

function initAt(target: string, folder: string, { language, version, clone }: InitOptions): number {
  const there = existsSync(target) ? readdirSync(target).filter((name) => !harmless.has(name)) : [];
  if (there.length > 0) {
    process.stderr.write(`${target} is not empty: it holds ${there.slice(0, 5).join(', ')}\n`);
    return 1;
  }
  const files = projectFiles({ name: nameOf(target), language, version });
  for (const [path, text] of Object.entries(files)) {
    const file = join(target, path);
    if (existsSync(file)) continue;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const steps = [
    ...(clone === undefined ? [] : [packIn(relative(process.cwd(), clone))]),
    ...(target === process.cwd() ? [] : [`cd ${folder}`]),
    `npm install${clone === undefined ? '' : ` ${tarballsOf(relative(target, clone), version)}`}`,
    'npm run dev',
  ];
  process.stdout.write(`${Object.keys(files).join('\n')}\n\nNext: ${steps.join(' && ')}\n`);
  return 0;
}

const packIn = (clone: string): string => `npm run ${clone === '' ? '' : `--prefix ${clone} `}pack`;

/** The packages that a project needs, where `npm run pack` in the clone writes them. */
const tarballsOf = (clone: string, version: string): string =>
  ['graph', 'auth', 'client', 'server']
    .map((name) => join(clone, '.cache', 'packages', `agent-workflow-${name}-${version}.tgz`))
    .join(' ');

/** A name that a package may have, from the folder's. */
const nameOf = (folder: string): string =>
  basename(folder)
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((part) => part !== '')
    .join('-') || 'agent';
