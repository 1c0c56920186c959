import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { lazily } from '../http/lazily.ts';
import { documentOf, type Book, type Content, type Frame } from './docs/frame.ts';
import { guidePages, type GuideFiles, type GuidePage } from './docs/guide.ts';
import type { OpenApi } from './docs/open-api.ts';
import { referenceBook, referencePages, type ReferencePage } from './docs/reference.ts';
import { searchEntriesOf, type SearchEntry } from './docs/search-entries.ts';
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

const scripts = ['theme.js', 'docs.js', 'copy.js', 'search.js', 'try.js'];

interface DocsOptions {
  /** Where the playground is served, if it is. */
  readonly playground: string | undefined;
  /** The OpenAPI document as JSON; `null` where there is none. */
  readonly openApi: () => string;
}

/** Gives the page at a path, or a file that pages load; `undefined` where there is none. */
type Docs = (path: string) => Promise<Page | undefined>;

/**
 * Reads both guides, and the OpenAPI document for the reference. Each page is made when it is asked for first; the reference and what the
 * search finds take as long as all pages of the guides, and most processes are asked for neither.
 */
export async function readDocs({ playground, openApi }: DocsOptions): Promise<Docs> {
  const guides = guidePages([
    await readGuide(callers, 'gateway/guide', top),
    await readGuide(authors, 'services/graph/guide', `${top}/authors`),
  ]);
  const described = JSON.parse(openApi()) as OpenApi | null;
  const book = described ? [referenceBook(described, `${top}/api`)] : [];
  const reference = lazily(() => (described ? referencePages(described, `${top}/api`) : []));
  const frame: Frame = { books: [...guides.map(guideBook), ...book], assets, playground };
  const pageOf = (content: Content | undefined): Page | undefined =>
    content && toPage('html', documentOf(content, frame), policyOfScripts);
  const makers = new Map<string, () => Page | undefined | Promise<Page>>([
    ...guides.flat().map((page) => [page.path, () => pageOf(page)] as const),
    ...book.flatMap(({ topics }) =>
      topics.map(({ path }) => [path, () => pageOf(reference().find((page) => page.path === path))] as const),
    ),
    [`${top}/search.json`, () => toPage('json', JSON.stringify(entriesOf(guides.flat(), reference())))],
    [`${assets}docs.css`, async () => toPage('css', await readStyle())],
    ...scripts.map(
      (name) => [`${assets}${name}`, async () => toPage('js', await readFile(new URL(name, own)))] as const,
    ),
  ]);
  const pages = new Map<string, Promise<Page | undefined>>();
  return async (path) => {
    const make = makers.get(path);
    if (!make) return undefined;
    const made = pages.get(path) ?? zipped(make());
    pages.set(path, made);
    try {
      return await made;
    } catch (error) {
      // What cannot be read now may be readable later.
      pages.delete(path);
      throw error;
    }
  };
}

const zipped = async (made: Page | undefined | Promise<Page>): Promise<Page | undefined> => {
  const page = await made;
  return page && (await withGzip(page));
};

/** The index of a guide is called so in the list of its pages, which has the title of the guide itself. */
const guideBook = ([index, ...pages]: readonly GuidePage[]): Book => ({
  title: index?.title ?? '',
  topics: [...(index ? [{ path: index.path, title: 'Overview' }] : []), ...pages],
});

const entriesOf = (pages: readonly GuidePage[], reference: readonly ReferencePage[]): readonly SearchEntry[] => [
  ...pages.flatMap(({ path, title, sections }) => searchEntriesOf(path, title, sections)),
  ...reference.flatMap(({ entries }) => entries),
];

/** The tokens of the playground, and what is made of them, as one file: the page waits for it before it is drawn. */
const readStyle = async (): Promise<string> =>
  (await Promise.all([tokens, new URL('docs.css', own)].map((file) => readFile(file, 'utf8')))).join('');

async function readGuide(place: URL, folder: string, path: string): Promise<GuideFiles> {
  const names = (await readdir(place)).filter((name) => name.endsWith('.md'));
  const read = async (name: string) => [name, await readFile(new URL(name, place), 'utf8')] as const;
  return { folder, path, files: new Map(await Promise.all(names.map(read))) };
}
