import type { Operation, Parameter, Routed } from './open-api.ts';

/** A command that sends the example of an operation: `$URL` is the service, `$TOKEN` the token of the caller. */
export function curlOf(
  { method, path, operation }: Pick<Routed, 'method' | 'path' | 'operation'>,
  isSecured: boolean,
): string {
  const [media, body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const isStream = Object.values(operation.responses).some(
    ({ content }) => content?.['text/event-stream'] !== undefined,
  );
  const parts = [
    `curl -s${isStream ? 'N' : ''}${method === 'GET' ? '' : ` -X ${method}`} "$URL${addressOf(path, operation)}"`,
    ...(isSecured && needsCredentials(operation) ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...bodyOf(media, body?.example),
  ];
  return parts.join(' \\\n  ');
}

/** Whether an operation of a service that authenticates callers needs credentials. */
export const needsCredentials = ({ security }: Operation): boolean => security?.length !== 0;

function addressOf(path: string, { parameters = [] }: Operation): string {
  const valueOf = ({ name, example }: Parameter): string =>
    example === undefined ? `{${name}}` : encodeURIComponent(textOf(example));
  const exampleOf = (parameter: Parameter): Parameter => ({
    ...parameter,
    example: parameter.example ?? Object.values(parameter.content ?? {})[0]?.example,
  });
  const given = parameters.map(exampleOf);
  const filled = given
    .filter((parameter) => parameter.in === 'path')
    .reduce((text, parameter) => text.replace(`{${parameter.name}}`, valueOf(parameter)), path);
  const query = given
    .filter((parameter) => parameter.in === 'query' && (parameter.required === true || parameter.example !== undefined))
    .map((parameter) => `${parameter.name}=${valueOf(parameter)}`);
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`;
}

const textOf = (example: unknown): string => (typeof example === 'string' ? example : JSON.stringify(example));

function bodyOf(media: string | undefined, example: unknown): string[] {
  if (media === undefined) return [];
  if (media === 'multipart/form-data') return ['-F file=@notes.txt'];
  return [
    `-H 'content-type: ${media}'`,
    `-d '${JSON.stringify(example ?? {}, null, 2).replaceAll("'", String.raw`'\''`)}'`,
  ];
}
