import { posix } from 'node:path';

/** Pages and folders of the tree, by their paths, and where they stand in a package. */
export type Places = Readonly<Record<string, string>>;

/**
 * The text of a page with links that lead to the places of what is copied. A link to a page that is not copied is replaced by its text;
 * links to addresses, and code, stay as they are.
 */
export function relinked(text: string, page: string, places: Places): string {
  const place = placeOf(page, places) ?? page;
  return text
    .split(/(^ *```[^]*?^ *```$)/m)
    .map((part, index) => (index % 2 === 1 ? part : relinkedProse(part, { page, place, places })))
    .join('');
}

interface Page {
  readonly page: string;
  /** Where it stands in the package. */
  readonly place: string;
  readonly places: Places;
}

const relinkedProse = (text: string, { page, place, places }: Page): string =>
  text.replace(/\[([^\][]*)\]\(([^()\s]*)\)/g, (link, label: string, target: string) => {
    if (/^(#|\w+:)/.test(target)) return link;
    const [path = '', anchor] = target.split('#', 2);
    const to = placeOf(posix.join(posix.dirname(page), path), places);
    if (to === undefined) return label;
    return `[${label}](${posix.relative(posix.dirname(place), to)}${anchor === undefined ? '' : `#${anchor}`})`;
  });

/** Where a file stands in the package: one of the places, or below a folder of them. */
function placeOf(path: string, places: Places): string | undefined {
  for (const [from, to] of Object.entries(places)) {
    if (path === from) return to;
    if (path.startsWith(`${from}/`)) return posix.join(to, path.slice(from.length + 1));
  }
  return undefined;
}
