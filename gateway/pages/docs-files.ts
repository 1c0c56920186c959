import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { documentOf, type Book, type Frame } from './docs/frame.ts';
import { guidePages, type GuideFiles } from './docs/guide.ts';
import { searchEntriesOf } from './docs/search-entries.ts';
import { policyOfScripts, toPage, withGzip, type Page } from './page.ts';

const own = new URL('./assets/', import.meta.url);

/** A package of ours holds copies of what the tree has elsewhere. */
const copyOr = (copy: string, original: () => URL): URL => {
  const copied = new URL(copy, own);
  return existsSync(copied) ? copied : original();
};

const callers = new URL('../guide/', import.meta.url);
const authors = copyOr('authors/', () => new URL('./guide/', import.meta.resolve('@agent-workflow/graph')));
const tokens = copyOr('tokens.css', () => new URL(import.meta.resolve('@agent-workflow/playground/tokens')));

/** Where the pages are served, and what they load. */
const top = '/docs';
const assets = `${top}/assets/`;

const scripts = ['theme.js', 'docs.js', 'copy.js', 'search.js'];

interface DocsOptions {
  /** Where the playground is served, if it is. */
  readonly playground: string | undefined;
}

/** Reads both guides and renders them: the page of each path, what the pages load, and what their search finds. */
export async function readDocs({ playground }: DocsOptions): Promise<ReadonlyMap<string, Page>> {
  const guides = guidePages([
    await readGuide(callers, 'gateway/guide', top),
    await readGuide(authors, 'services/graph/guide', `${top}/authors`),
  ]);
  const books: readonly Book[] = [
    ...guides.map(([index, ...pages]) => ({
      title: index?.title ?? '',
      topics: [...(index ? [{ path: index.path, title: 'Overview' }] : []), ...pages],
    })),
    { title: 'Reference', topics: [{ path: `${top}/api`, title: 'API reference' }] },
  ];
  const frame: Frame = { books, assets, playground };
  const pages = guides.flat();
  const found = pages.flatMap(({ path, title, sections }) => searchEntriesOf(path, title, sections));
  const entries = [
    ...pages.map((page) => [page.path, toPage('html', documentOf(page, frame), policyOfScripts)] as const),
    [`${top}/search.json`, toPage('json', JSON.stringify(found))] as const,
    [`${assets}docs.css`, toPage('css', await readStyle())] as const,
    ...(await Promise.all(
      scripts.map(async (name) => [`${assets}${name}`, toPage('js', await readFile(new URL(name, own)))] as const),
    )),
  ];
  return new Map(await Promise.all(entries.map(async ([path, page]) => [path, await withGzip(page)] as const)));
}

/** The tokens of the playground, and what is made of them, as one file: the page waits for it before it is drawn. */
const readStyle = async (): Promise<string> =>
  (await Promise.all([tokens, new URL('docs.css', own)].map((file) => readFile(file, 'utf8')))).join('');

async function readGuide(place: URL, folder: string, path: string): Promise<GuideFiles> {
  const names = (await readdir(place)).filter((name) => name.endsWith('.md'));
  const read = async (name: string) => [name, await readFile(new URL(name, place), 'utf8')] as const;
  return { folder, path, files: new Map(await Promise.all(names.map(read))) };
}
