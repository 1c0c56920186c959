import { curlOf, needsCredentials } from './curl.ts';
import { escaped } from './escaped.ts';
import { codeBlock } from './highlighted.ts';
import { renderText } from './markdown.ts';
import { nameIn, type OpenApi, type Parameter, type Reply, type Routed, type Schema } from './open-api.ts';
import { boundsOf, schemaTree, typeOf } from './schema-tree.ts';

/** An operation of the reference: what it does, who may call it, what it takes, what it answers, and a command that calls it. */
export function operationSection(document: OpenApi, routed: Routed, route: string): string {
  const { operation, aliases } = routed;
  const id = operation.operationId;
  return `<section class="operation" aria-labelledby="${id}" data-operation="${id}">
<h2 id="${id}"><a class="anchor" href="#${id}">${escaped(operation.summary)}</a></h2>
<p>${route}</p>
${renderText(operation.description ?? '')}${factsOf(document, routed)}${aliases.length === 0 ? '' : `<p>Also at ${aliases.map((alias) => `<code>${escaped(alias)}</code>`).join(', ')}.</p>\n`}${codeBlock(curlOf(routed, document.security.length > 0), 'sh')}${parametersOf(document, routed)}${bodyOf(document, routed)}${repliesOf(document, routed)}</section>
`;
}

/** What a caller needs, in a line. */
function factsOf({ security }: OpenApi, { operation }: Routed): string {
  const access = operation['x-access'];
  if (!needsCredentials(operation)) return '<p class="access">Needs no credentials.</p>\n';
  const credentials = security.length > 0 ? 'Needs credentials' : 'Needs credentials where callers authenticate';
  return access === undefined
    ? `<p class="access">${credentials}, and no permission.</p>\n`
    : `<p class="access">${credentials}, and the permission <code>${escaped(access)}</code>.</p>\n`;
}

const places = { path: 'in the path', query: 'in the query', header: 'as a header' } as const;

function parametersOf({ components }: OpenApi, { operation: { parameters = [] } }: Routed): string {
  if (parameters.length === 0) return '';
  return `<h3>Parameters</h3>\n<ul class="schema">${parameters.map((each) => parameterOf(each, components.schemas)).join('')}</ul>\n`;
}

function parameterOf(
  { name, in: place, required, description, schema, content }: Parameter,
  schemas: OpenApi['components']['schemas'],
): string {
  const shape: Schema = schema ?? Object.values(content ?? {})[0]?.schema ?? {};
  const bounds = boundsOf(shape);
  return `<li><code>${escaped(name)}</code> <span class="type">${escaped(typeOf(shape, schemas))}, ${places[place]}</span>${required === true ? '<span class="need">required</span>' : ''}
<div class="note">${renderText(description ?? '')}${bounds === '' ? '' : `<p class="bounds">${bounds}</p>`}</div></li>
`;
}

function bodyOf({ components }: OpenApi, { operation: { requestBody } }: Routed): string {
  if (!requestBody) return '';
  const [media = '', content] = Object.entries(requestBody.content)[0] ?? [];
  const tree = content?.schema ? schemaTree(content.schema, components.schemas) : '';
  return `<h3>Body</h3>\n<p class="bounds"><code>${escaped(media)}</code>${requestBody.required === true ? ', required' : ''}</p>\n${renderText(requestBody.description ?? '')}${tree}\n`;
}

function repliesOf(document: OpenApi, { operation: { responses } }: Routed): string {
  const all = Object.entries(responses);
  const isSuccess = ([status]: readonly [string, Reply]): boolean => Number(status) < 400;
  const refusals = all.filter((each) => !isSuccess(each));
  return `<h3>Replies</h3>\n${all
    .filter(isSuccess)
    .map(([status, reply]) => replyOf(document, status, reply))
    .join('')}${refusals.length === 0 ? '' : refusalsOf(document, refusals)}`;
}

function replyOf({ components }: OpenApi, status: string, { description = '', content = {} }: Reply): string {
  const medias = Object.keys(content).map((media) => `<code>${escaped(media)}</code>`);
  const [first] = Object.values(content);
  const tree = first?.schema ? schemaTree(shownOf(first.schema), components.schemas) : '';
  const example =
    first?.example === undefined
      ? ''
      : codeBlock(typeof first.example === 'string' ? first.example : JSON.stringify(first.example, null, 2), 'json');
  return `<div class="reply"><div class="status"><b>${status}</b> ${medias.join(', ')}${renderText(description)}</div>
${tree === '' ? '' : `<details><summary>Members of <code>data</code></summary>${tree}</details>`}${example === '' ? '' : `<details><summary>Example</summary>${example}</details>`}</div>
`;
}

/** What stands in the envelope of a reply; the envelope is the same for all. */
const shownOf = (schema: Schema): Schema => schema.properties?.['data'] ?? schema;

const refusalsOf = ({ components }: OpenApi, refusals: readonly (readonly [string, Reply])[]): string =>
  `<details><summary>Refusals: ${refusals.map(([status]) => status).join(', ')}</summary><dl>${refusals
    .map(([status, { $ref, description }]) => {
      const text = ($ref === undefined ? description : components.responses[nameIn($ref)]?.description) ?? '';
      return `<dt>${status}</dt><dd>${renderText(text)}</dd>`;
    })
    .join('\n')}</dl></details>
`;
