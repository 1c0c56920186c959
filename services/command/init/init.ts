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
  /** The folder of the tarballs that this command was installed from: its packages need not be in a registry either. */
  readonly tarballs: string | undefined;
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

function initAt(target: string, folder: string, options: InitOptions): number {
  const there = existsSync(target) ? readdirSync(target).filter((name) => !harmless.has(name)) : [];
  if (there.length > 0) {
    process.stderr.write(`${target} is not empty: it holds ${there.slice(0, 5).join(', ')}\n`);
    return 1;
  }
  const files = projectFiles({ name: nameOf(target), ...options });
  for (const [path, text] of Object.entries(files)) {
    const file = join(target, path);
    if (existsSync(file)) continue;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  process.stdout.write(
    `${Object.keys(files).join('\n')}\n\nNext: ${nextSteps(target, folder, options).join(' && ')}\n`,
  );
  return 0;
}

function nextSteps(target: string, folder: string, { version, clone, tarballs }: InitOptions): readonly string[] {
  const packages = clone === undefined ? tarballs : join(clone, '.cache', 'packages');
  return [
    ...(clone === undefined ? [] : [packIn(relative(process.cwd(), clone))]),
    ...(target === process.cwd() ? [] : [`cd ${word(folder)}`]),
    ['npm install', ...(packages === undefined ? [] : tarballsIn(relative(target, packages), version))].join(' '),
    'npm run dev',
  ];
}

const packIn = (clone: string): string => `npm run ${clone === '' ? '' : `--prefix ${word(clone)} `}pack`;

/** The packages that a project needs, where `npm run pack` wrote them. */
const tarballsIn = (folder: string, version: string): readonly string[] =>
  ['graph', 'auth', 'client', 'server'].map((name) => word(join(folder, `agent-workflow-${name}-${version}.tgz`)));

/** As a shell reads it. */
const word = (text: string): string => (/^[\w./@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** A name that a package may have, from the folder's. */
const nameOf = (folder: string): string =>
  basename(folder)
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((part) => part !== '')
    .join('-') || 'agent';
