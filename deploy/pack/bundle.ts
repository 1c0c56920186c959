import { posix } from 'node:path';
import { rolldown, type OutputChunk, type Plugin } from 'rolldown';
import { root } from '../generator/settings.ts';
import type { Built } from './emit.ts';

/**
 * Joins the modules of a package into few files, because finding, reading and linking each costs Node a fifth of a millisecond. An entry
 * keeps its path and its exports. What several entries share, or import when they need it, is a file of its own in `chunks`, so
 * that every module exists once. Other packages stay imports. Nothing is renamed for size or left out: a frame of a stack names its
 * function, and the nearest line above it that is a comment with a path names its module.
 */
export async function bundle(built: Built, entries: readonly string[]): Promise<Built> {
  const starts = new Set([...entries, ...threadsIn(built)]);
  const bundled = await rolldown({
    cwd: root,
    platform: 'node',
    treeshake: false,
    preserveEntrySignatures: 'strict',
    input: Object.fromEntries([...starts].map((path) => [path.replace(/\.js$/, ''), path])),
    plugins: [fromMemory(built, starts)],
  });
  await using _bundled = { [Symbol.asyncDispose]: () => bundled.close() };
  const { output } = await bundled.generate({
    dir: root,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
  });
  const chunks = output.filter((file) => file.type === 'chunk');
  refuseMoved(built, chunks, starts);
  const types = [...built].filter(([path]) => path.endsWith('.d.ts'));
  return new Map([...types, ...chunks.map(({ fileName, code }) => [fileName, code] as const)]);
}

const moduleUrl = /new URL\('(\.\.?\/[^']+\.js)', import\.meta\.url\)/g;

/** The modules that are started as threads, by their addresses. */
const threadsIn = (built: Built): readonly string[] =>
  [...built].flatMap(([path, text]) =>
    [...text.matchAll(moduleUrl)]
      .map(([, specifier = '']) => posix.join(posix.dirname(path), specifier))
      .filter((found) => built.has(found)),
  );

const ownUrl = 'import.meta.url';

/** Whether a module depends on its place: it has its own address, or a path to a package that is copied beside it. */
const dependsOnPlace = (text: string): boolean => text.includes(ownUrl) || /\bfrom '[./]+\/vendor\//.test(text);

const pathOf = (id: string): string => posix.relative(root, id);

/** Reads modules from what was built. Those that move to `chunks` keep the address that they had. */
function fromMemory(built: Built, starts: ReadonlySet<string>): Plugin {
  return {
    name: 'from-memory',
    resolveId(specifier, importer) {
      if (importer === undefined) return posix.join(root, specifier);
      if (!specifier.startsWith('.')) return { id: specifier, external: true };
      const id = posix.join(posix.dirname(importer), specifier);
      if (built.has(pathOf(id))) return id;
      return { id: starts.has(pathOf(importer)) ? specifier : `../${pathOf(id)}`, external: true };
    },
    load(id) {
      const path = pathOf(id);
      const code = built.get(path);
      return starts.has(path) ? code : code?.replaceAll(ownUrl, `new URL('../${path}', ${ownUrl})`);
    },
  };
}

/** A module that depends on its place was given one in `chunks`. @throws Error naming one that is elsewhere. */
function refuseMoved(built: Built, chunks: readonly OutputChunk[], starts: ReadonlySet<string>): void {
  for (const { fileName, moduleIds } of chunks)
    for (const path of moduleIds.map(pathOf))
      if (!starts.has(path) && !fileName.startsWith('chunks/') && dependsOnPlace(built.get(path) ?? ''))
        throw new Error(
          `${path} depends on its place and became part of ${fileName}: it must be shared, or an entry itself`,
        );
}
