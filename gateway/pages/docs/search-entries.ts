import type { Section } from './markdown.ts';

/** A part of a page that the search finds. */
export interface SearchEntry {
  readonly path: string;
  readonly page: string;
  /** The heading that it stands below; that of the page for what comes first. */
  readonly heading: string;
  readonly text: string;
}

/** The parts of a page, each with the address of its heading. */
export const searchEntriesOf = (path: string, page: string, sections: readonly Section[]): readonly SearchEntry[] =>
  sections
    .filter(({ heading, text }) => heading !== undefined || text !== '')
    .map(({ heading, text }) => ({
      path: heading ? `${path}#${heading.id}` : path,
      page,
      heading: heading?.text ?? page,
      text,
    }));
