import { posix } from 'node:path';
import type { Content } from './frame.ts';
import { render, type PathOf, type Section } from './markdown.ts';

/** A guide as it stands in files: `README.md`, which lists the others, and a page a topic. */
export interface GuideFiles {
  /** Where the folder stands in the repository, from its root: pages link to each other by it. */
  readonly folder: string;
  /** Where the gateway serves its index. */
  readonly path: string;
  /** The text of each file. */
  readonly files: ReadonlyMap<string, string>;
}

/** A page, and what the search finds of it. */
export interface GuidePage extends Content {
  readonly sections: readonly Section[];
}

const index = 'README.md';

/** The pages of the guides, each guide in the order in which its index names them. Their links lead to where pages of any of them are served. */
export function guidePages(guides: readonly GuideFiles[]): readonly (readonly GuidePage[])[] {
  const served = new Map(
    guides.flatMap(({ folder, path, files }) =>
      [...files.keys()].map((file) => [posix.join(folder, file), pathOfPage(path, file)] as const),
    ),
  );
  return guides.map(({ folder, path, files }) => {
    const pathOf: PathOf = (link) => served.get(posix.join(folder, link));
    const order = files.get(index) ?? '';
    const placeOf = (file: string): number => (file === index ? -1 : order.indexOf(`(${file})`));
    return [...files]
      .toSorted(([a], [b]) => placeOf(a) - placeOf(b))
      .map(([file, markdown]) => pageOf(pathOfPage(path, file), markdown, pathOf));
  });
}

/** A page whose title is known at once, and all else when it is first read: every list of pages has the title, and few pages are read. */
function pageOf(path: string, markdown: string, pathOf: PathOf): GuidePage {
  let made: ReturnType<typeof render> | undefined;
  const rendered = () => (made ??= render(markdown, pathOf));
  const [firstLine = ''] = markdown.split('\n', 1);
  return {
    path,
    title: render(firstLine, pathOf).title || rendered().title,
    get html() {
      return rendered().html;
    },
    get headings() {
      return rendered().headings;
    },
    get sections() {
      return rendered().sections;
    },
  };
}

const pathOfPage = (path: string, file: string): string =>
  file === index ? path : `${path}/${file.replace(/\.md$/, '')}`;
