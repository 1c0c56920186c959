import { escaped } from './escaped.ts';
import type { Book, Content } from './frame.ts';
import { codeBlock } from './highlighted.ts';
import { renderText } from './markdown.ts';
import { operationsOf, type OpenApi, type Routed } from './open-api.ts';
import { operationSection } from './operation-section.ts';
import type { SearchEntry } from './search-entries.ts';

/** A page of the reference, and what the search finds of it. */
export interface ReferencePage extends Content {
  readonly entries: readonly SearchEntry[];
}

const bookTitle = 'API reference';

/** The list of the pages of the reference. `path` is where its first one is served. */
export const referenceBook = ({ tags }: OpenApi, path: string): Book => ({
  title: bookTitle,
  topics: [{ path, title: 'Overview' }, ...tags.map(({ name }) => ({ path: `${path}/${name}`, title: titleOf(name) }))],
});

/** The reference of an API: a page that lists all operations, and a page for the operations of each tag. */
export function referencePages(document: OpenApi, path: string): readonly ReferencePage[] {
  const groups = document.tags.map(({ name, description }) => ({
    name,
    description,
    path: `${path}/${name}`,
    operations: operationsOf(document, name),
  }));
  return [overviewOf(document, path, groups), ...groups.map((group) => pageOf(document, group))];
}

interface Group {
  readonly name: string;
  readonly description: string;
  readonly path: string;
  readonly operations: readonly Routed[];
}

const titleOf = (tag: string): string => `${tag.charAt(0).toUpperCase()}${tag.slice(1)}`;

/** A method and a path, as every page shows them. */
const routeOf = ({ method, path }: Routed): string =>
  `<code class="route"><b class="method">${method}</b> ${escaped(path)}</code>`;

function overviewOf(document: OpenApi, path: string, groups: readonly Group[]): ReferencePage {
  const sections = [
    ...groups.map(({ name, ...group }) => ({ id: name, text: titleOf(name), html: listOf(group) })),
    { id: 'error-codes', text: 'Error codes', html: codesOf(document) },
    { id: 'events', text: 'Events of a stream', html: eventsOf(document) },
  ];
  const html = sections.map(
    ({ id, text, html: body }) => `<h2 id="${id}"><a class="anchor" href="#${id}">${text}</a></h2>\n${body}`,
  );
  return {
    path,
    title: bookTitle,
    html: `<h1>${bookTitle}</h1>\n${renderText(document.info.description)}<p>The document itself: <a href="/openapi.json">openapi.json</a>.</p>\n${html.join('')}`,
    headings: sections.map(({ id, text }) => ({ id, text, depth: 2 })),
    entries: [
      { path, page: bookTitle, heading: bookTitle, text: document.info.description },
      ...Object.entries(document['x-error-codes']).map(([code, text]) => ({
        path: `${path}#${code}`,
        page: 'Error codes',
        heading: code,
        text,
      })),
      ...Object.entries(document['x-events']).map(([kind, { description, data }]) => ({
        path: `${path}#event-${kind}`,
        page: 'Events of a stream',
        heading: kind,
        text: `${description} ${data}`,
      })),
    ],
  };
}

const listOf = ({ description, path, operations }: Omit<Group, 'name'>): string =>
  `${renderText(description)}<ul class="operations">
${operations
  .map(
    (routed) =>
      `<li><a href="${path}#${routed.operation.operationId}">${routeOf(routed)} <span>${escaped(routed.operation.summary)}</span></a></li>`,
  )
  .join('\n')}
</ul>
`;

const codesOf = ({ 'x-error-codes': codes }: OpenApi): string =>
  `<dl>${Object.entries(codes)
    .map(([code, text]) => `<dt id="${code}"><code>${code}</code></dt><dd>${renderText(text)}</dd>`)
    .join('\n')}</dl>\n`;

const eventsOf = ({ 'x-events': events }: OpenApi): string =>
  Object.entries(events)
    .map(
      ([kind, { description, data, example }]) =>
        `<h3 id="event-${kind}"><code>${kind}</code></h3>\n${renderText(description)}${renderText(data)}${codeBlock(JSON.stringify(example, null, 2), 'json')}`,
    )
    .join('');

function pageOf(document: OpenApi, { name, description, path, operations }: Group): ReferencePage {
  const title = titleOf(name);
  return {
    path,
    title,
    html: `<h1>${escaped(title)}</h1>\n${renderText(description)}${operations
      .map((routed) => operationSection(document, routed, routeOf(routed)))
      .join('')}`,
    headings: operations.map(({ operation }) => ({ id: operation.operationId, text: operation.summary, depth: 2 })),
    entries: operations.map((routed) => ({
      path: `${path}#${routed.operation.operationId}`,
      page: `${routed.method} ${routed.path}`,
      heading: routed.operation.summary,
      text: textOf(routed),
    })),
  };
}

/** What the search reads of an operation: its routes, what it does, and the names of its parameters. */
const textOf = ({ method, path, aliases, operation }: Routed): string =>
  [
    `${method} ${path}`,
    ...aliases,
    operation.operationId,
    operation.description ?? '',
    (operation.parameters ?? []).map(({ name }) => name).join(' '),
  ].join(' ');
