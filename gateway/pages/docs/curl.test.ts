import test from 'ava';
import { curlOf } from './curl.ts';
import type { Operation } from './open-api.ts';

const operation = (parts: Partial<Operation>): Operation => ({
  operationId: 'x',
  summary: 'X',
  tags: [],
  responses: {},
  ...parts,
});

test('a command has the examples of its parameters in the address, encoded', (t) => {
  const parameters: Operation['parameters'] = [
    { name: 'id', in: 'path', required: true, example: 'a/b' },
    { name: 'search', in: 'query', example: 'two words' },
    { name: 'filters', in: 'query', content: { 'application/json': { example: { a: 1 } } } },
    { name: 'limit', in: 'query' },
  ];
  t.is(
    curlOf({ method: 'GET', path: '/v1/x/{id}', operation: operation({ parameters }) }, false),
    'curl -s "$URL/v1/x/a%2Fb?search=two%20words&filters=%7B%22a%22%3A1%7D"',
  );
});

test('a command has the token as a variable, where the service and the operation ask for one', (t) => {
  const token = /-H "Authorization: Bearer \$TOKEN"/;
  const command = (parts: Partial<Operation>, isSecured: boolean): string =>
    curlOf({ method: 'GET', path: '/', operation: operation(parts) }, isSecured);
  t.regex(command({}, true), token);
  t.notRegex(command({}, false), token);
  t.notRegex(command({ security: [] }, true), token);
});

test('a body stands between single quotes, also with one in it', (t) => {
  const requestBody = { content: { 'application/json': { example: { text: "it's" } } } };
  t.is(
    curlOf({ method: 'POST', path: '/v1/x', operation: operation({ requestBody }) }, false),
    String.raw`curl -s -X POST "$URL/v1/x" \
  -H 'content-type: application/json' \
  -d '{
  "text": "it'\''s"
}'`,
  );
});

test('a file is sent as a form, and a stream is not buffered', (t) => {
  const form = operation({ requestBody: { content: { 'multipart/form-data': {} } } });
  t.regex(curlOf({ method: 'POST', path: '/', operation: form }, false), /-F file=@notes\.txt$/);
  const stream = operation({ responses: { 200: { content: { 'text/event-stream': {} } } } });
  t.regex(curlOf({ method: 'GET', path: '/', operation: stream }, false), /^curl -sN "/);
});
