import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { constants, deflateRawSync } from 'node:zlib';
import test from 'ava';
import { noise } from '../noise.ts';
import { until } from '../until.ts';
import { serve } from './service.ts';
import { openShape } from './shape.ts';

const MiB = 1024 * 1024;
const { url, send, data } = serve(test, 'obedient', { FILES_MAX_MB: '2', FILES_MAX_COUNT: '1000' });

interface Info {
  readonly file_id: string;
  readonly mime_type: string;
  readonly size_bytes: number;
  readonly filename: string;
  readonly sha256: string;
  readonly url: string;
}

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Uploads and gives status and body. */
async function post(bytes: Uint8Array<ArrayBuffer> | string, name = 'file.bin', type = ''): Promise<Sent> {
  const form = new FormData();
  form.append('file', new File([bytes], name, { type }));
  return postForm(form);
}

interface Sent {
  readonly status: number;
  readonly body: {
    readonly data: Info;
    readonly error: {
      readonly code: string;
      readonly message: string;
      readonly details: readonly { readonly loc: unknown }[];
    };
  };
}

async function postForm(form: FormData): Promise<Sent> {
  const response = await fetch(`${url()}/v1/files/upload`, { method: 'POST', body: form });
  return { status: response.status, body: (await response.json()) as Sent['body'] };
}

async function upload(bytes: Uint8Array<ArrayBuffer> | string, name?: string, type?: string): Promise<Info> {
  const { status, body } = await post(bytes, name, type);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.data;
}

const get = (id: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${url()}/v1/files/${id}`, { headers });

test('what was uploaded comes back byte for byte, with name, type, size and hash', async (t) => {
  const bytes = noise(MiB + 17);
  const file = await upload(bytes, 'data.bin', 'application/x-own');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  t.like(file, {
    mime_type: 'application/x-own',
    size_bytes: bytes.length,
    filename: 'data.bin',
    sha256,
    url: `/v1/files/${file.file_id}`,
  });
  const response = await get(file.file_id);
  t.is(response.status, 200);
  t.true(bytes.equals(Buffer.from(await response.arrayBuffer())));
  t.is(response.headers.get('content-length'), String(bytes.length));
  t.is(response.headers.get('etag'), `"${sha256}"`);
  t.is(response.headers.get('content-disposition'), 'attachment; filename="data.bin"');
  t.like(await data(t, 'getFileInfo', send('GET', `/v1/files/${file.file_id}/info`)), {
    file_id: file.file_id,
    sha256,
  });
});

test('an image is shown under the type that its bytes show', async (t) => {
  const { file_id, mime_type } = await upload(new Uint8Array(png), 'dot.jpg', 'image/jpeg');
  t.is(mime_type, 'image/png');
  const { headers } = await get(file_id);
  t.is(headers.get('content-type'), 'image/png');
  t.is(headers.get('content-disposition'), 'inline; filename="dot.jpg"');
  t.regex(headers.get('content-security-policy') ?? '', /sandbox/);
  t.is(headers.get('x-content-type-options'), 'nosniff');
});

test('a download goes on where it was cut off', async (t) => {
  const bytes = noise(300_000);
  const { file_id, sha256 } = await upload(bytes);
  const part = async (range: string, more = {}): Promise<[number, string | null, Buffer]> => {
    const response = await get(file_id, { range, ...more });
    return [response.status, response.headers.get('content-range'), Buffer.from(await response.arrayBuffer())];
  };
  const tag = `"${sha256}"`;
  t.deepEqual(await part('bytes=100000-', { 'if-range': tag }), [
    206,
    'bytes 100000-299999/300000',
    bytes.subarray(100_000),
  ]);
  t.deepEqual(await part('bytes=0-0'), [206, 'bytes 0-0/300000', bytes.subarray(0, 1)]);
  t.deepEqual(await part('bytes=-5'), [206, 'bytes 299995-299999/300000', bytes.subarray(-5)]);
  t.deepEqual(await part('bytes=299999-400000'), [206, 'bytes 299999-299999/300000', bytes.subarray(-1)]);
  t.deepEqual(await part('Bytes=-400000'), [206, 'bytes 0-299999/300000', bytes]);
  for (const whole of ['bytes=1-2,5-6', 'bytes=x', 'lines=1-2', 'bytes=5-2,', 'bytes=5-2', 'bytes=-', 'bytes=1 -2'])
    t.deepEqual((await part(whole)).slice(0, 2), [200, null], whole);
  t.deepEqual((await part('bytes=0-5', { 'if-range': '"another"' }))[0], 200);
  for (const range of ['bytes=300000-', 'bytes=300000-300001', 'bytes=-0']) {
    const beyond = await get(file_id, { range });
    t.is(beyond.status, 416, range);
    t.is(beyond.headers.get('content-range'), 'bytes */300000');
    t.is(beyond.headers.get('content-disposition'), null);
    t.like(await beyond.json(), { error: { code: 'RANGE_NOT_SATISFIABLE' } });
  }
});

test('who has the bytes is not sent them again, and HEAD sends none', async (t) => {
  const { file_id, sha256 } = await upload('hello');
  for (const known of [`"${sha256}"`, `W/"${sha256}"`, `"x", "${sha256}"`, '*']) {
    const response = await get(file_id, { 'if-none-match': known });
    t.deepEqual([response.status, await response.text()], [304, ''], known);
  }
  t.is((await get(file_id, { 'if-none-match': '"x"' })).status, 200);
  const page = await upload('<html>', 'page.html', 'text/html');
  for (const headers of [{}, { 'if-none-match': '*' }])
    t.is((await get(page.file_id, headers)).headers.get('content-type'), 'application/octet-stream');
  const head = await fetch(`${url()}/v1/files/${file_id}`, { method: 'HEAD' });
  t.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, '5', '']);
});

test('a deleted file is absent, to its address too', async (t) => {
  const { file_id } = await upload('hello');
  const address = (await send('GET', `/v1/files/${file_id}/url`)).body.data as { readonly url: string };
  t.is((await fetch(url() + address.url)).status, 200);
  t.is((await send('DELETE', `/v1/files/${file_id}`)).status, 200);
  for (const path of ['', '/info', '/url']) t.is((await send('GET', `/v1/files/${file_id}${path}`)).status, 404);
  t.is((await fetch(url() + address.url)).status, 404);
});

test('SVG and HTML are sent as bytes to be saved, whatever they were declared as', async (t) => {
  const script = '<script>alert(1)</script>';
  const svg = `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`;
  const files: [string, string, string][] = [
    [svg, 'a.svg', 'image/svg+xml'],
    [`<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`, 'b.svg', 'image/svg+xml'],
    [`<html>${script}`, 'c.html', 'text/html'],
    [`<html>${script}`, 'd.xhtml', 'application/xhtml+xml; charset=utf-8'],
    ['alert(1)', 'e.js', 'text/javascript'],
  ];
  for (const [content, name, type] of files) {
    const { file_id } = await upload(content, name, type);
    const address = (await send('GET', `/v1/files/${file_id}/url`)).body.data as { readonly url: string };
    for (const response of [await get(file_id), await fetch(url() + address.url)]) {
      const { headers } = response;
      t.is(headers.get('content-type'), 'application/octet-stream', name);
      t.is(headers.get('content-disposition'), `attachment; filename="${name}"`);
      t.regex(headers.get('content-security-policy') ?? '', /default-src 'none'; sandbox/);
      t.is(headers.get('x-content-type-options'), 'nosniff');
      t.is(await response.text(), content);
    }
  }
});

test('an archive that would unpack to much more is bytes as any other: nothing unpacks it', async (t) => {
  // Parts that end with a full flush may be put together to any length.
  const part = deflateRawSync(Buffer.alloc(64 * MiB), { finishFlush: constants.Z_FULL_FLUSH });
  const packed = Buffer.concat([...Array.from({ length: 16 }, () => part), deflateRawSync(Buffer.alloc(0))]);
  // The name makes libraries look inside, because it tells an office document from other archives.
  const name = Buffer.from('[Content_Types].xml');
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(8, 8);
  header.writeUInt32LE(packed.byteLength, 18);
  header.writeUInt32LE(1024 * MiB, 22);
  header.writeUInt16LE(name.byteLength, 26);
  const zip = Buffer.concat([header, name, packed]);
  const before = process.memoryUsage().rss;
  const bomb = await upload(zip, 'bomb.zip', 'application/zip');
  const grown = (process.memoryUsage().rss - before) / MiB;
  t.log(`${(zip.byteLength / 1024).toFixed(0)} KiB that unpack to 1 GiB: ${grown.toFixed(0)} MiB of memory`);
  // Unpacked it would be 1,024; other tests, which share the process, grow beside it.
  t.true(grown < 600);
  const reply = await get(bomb.file_id);
  t.regex(reply.headers.get('content-disposition') ?? '', /^attachment/);
  t.deepEqual(Buffer.from(await reply.arrayBuffer()), zip);
});

test('a text is a text, whatever signature its first letters resemble', async (t) => {
  for (const [content, type] of [
    ['BMI,age\n22,40\n', 'text/csv'],
    ['GIF is a format. Grüße', 'text/plain'],
    ['MZ,ID3\n', 'text/csv'],
    ['ID3,artist\n', 'text/csv'],
    ['<?xml version="1.0"?><plist version="1.0"/>', 'application/x-plist'],
    ['{\\rtf1 Hello}', 'application/msword'],
  ] as const)
    t.is((await post(content, 'a', type)).status, 200, content);
  t.is((await post('BMI,age\n22,40\n', 'a.bmp', 'image/bmp')).status, 422);
});

test('bytes that belie their declared type are refused by name', async (t) => {
  const refused: [Uint8Array<ArrayBuffer> | string, string, RegExp][] = [
    ['<html>', 'image/png', /sent as image\/png, and its bytes are not that/],
    ['plain', 'application/pdf', /sent as application\/pdf/],
    [new Uint8Array(png), 'text/plain', /sent as text\/plain, and its bytes are image\/png/],
    [new Uint8Array(png), 'application/json', /its bytes are image\/png/],
    [new Uint8Array(png), 'audio/mpeg', /its bytes are image\/png/],
  ];
  for (const [bytes, type, message] of refused) {
    const { status, body } = await post(bytes, 'x', type);
    t.deepEqual(
      [status, body.error.code, body.error.details[0]?.loc],
      [422, 'VALIDATION_ERROR', ['body', 'file']],
      type,
    );
    t.regex(body.error.message, message);
  }
  for (const type of ['', 'application/octet-stream', 'text/csv', 'nonsense', 'application/x-own'])
    t.is((await post('a,b', 'x', type)).status, 200, type);
});

test('a file of no declared type is of the type that its bytes show, else a text', async (t) => {
  for (const [bytes, type] of [
    [png, 'image/png'],
    [Buffer.from('plain'), 'text/plain'],
  ] as const)
    for (const disposition of ['form-data; name="file"; filename="x"', 'form-data; name="file"']) {
      const head = `--b\r\nContent-Disposition: ${disposition}\r\n\r\n`;
      const response = await fetch(`${url()}/v1/files/upload`, {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
        body: Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n--b--\r\n')]),
      });
      t.is(response.status, 200);
      t.is(((await response.json()) as Sent['body']).data.mime_type, type);
    }
});

test('a name is shown without its folders, and never part of a path', async (t) => {
  const names: [string, string][] = [
    ['../../etc/passwd', 'passwd'],
    ['C:\\Windows\\system.ini', 'system.ini'],
    ['/', 'file'],
    ['..', 'file'],
    ['a\u202egpj.exe', 'agpj.exe'],
    ['line\nbreak.txt', 'linebreak.txt'],
    [`${'ä'.repeat(200)}.txt`, `${'ä'.repeat(125)}.txt`],
    ['été "1".txt', 'été "1".txt'],
    ['100%.txt', '100%.txt'],
    ['a%20b%2Fc%250A%0d.txt', 'a%20b%2Fc%250A%0d.txt'],
  ];
  for (const [given, expected] of names) {
    const { file_id, filename } = await upload('x', given);
    t.is(filename, expected);
    const { status, headers } = await get(file_id);
    t.is(status, 200);
    t.regex(
      headers.get('content-disposition') ?? '',
      /^attachment; filename="[\x20-\x7e\xa0-\xff]*"(; filename\*=UTF-8''[\w%.!-]+)?$/,
    );
  }
});

test('a form must have one file, in the field `file`', async (t) => {
  const form = (...fields: [string, string | File][]): FormData => {
    const made = new FormData();
    for (const [name, value] of fields) made.append(name, value);
    return made;
  };
  const file = (): File => new File(['x'], 'x');
  const refused: [FormData, unknown][] = [
    [form(), ['body', 'file']],
    [form(['other', file()]), ['body', 'other']],
    [form(['file', file()], ['file', file()]), ['body']],
    [form(['file', file()], ['more', 'text']), ['body']],
    [form(['more', 'text'], ['file', file()]), ['body', 'more']],
    [form(['file', new File([], 'empty')]), ['body', 'file']],
  ];
  for (const [index, [body, loc]] of refused.entries()) {
    const reply = await postForm(body);
    t.deepEqual(
      [reply.status, reply.body.error.details[0]?.loc],
      [422, loc],
      `${String(index)}: ${JSON.stringify(reply.body)}`,
    );
  }
  for (const name of ['', '; name=""', '; filename="a"']) {
    const body = `--x\r\nContent-Disposition: form-data${name}\r\n\r\nabc\r\n--x--\r\n`;
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    const response = await fetch(`${url()}/v1/files/upload`, { method: 'POST', headers, body });
    const { error } = (await response.json()) as Sent['body'];
    t.deepEqual([response.status, error.details[0]?.loc], [422, ['body']], name);
    t.is(error.message, 'body: has a part without a name: the file is in `file`');
  }
});

test('what is no form is refused in the words of every other refusal', async (t) => {
  const sent = async (body: string, type: string, more = {}): Promise<[number, string]> => {
    const headers = { 'content-type': type, ...more };
    const response = await fetch(`${url()}/v1/files/upload`, { method: 'POST', headers, body });
    return [response.status, ((await response.json()) as Sent['body']).error.code];
  };
  const type = 'multipart/form-data; boundary=x';
  t.deepEqual(await sent('{}', 'application/json'), [415, 'UNSUPPORTED_MEDIA_TYPE']);
  t.deepEqual(await sent('x', 'multipart/form-data'), [415, 'UNSUPPORTED_MEDIA_TYPE']);
  t.deepEqual(await sent('x', type, { 'content-encoding': 'gzip' }), [415, 'UNSUPPORTED_MEDIA_TYPE']);
  t.deepEqual(await sent('not a form', type), [400, 'BAD_REQUEST']);
  t.deepEqual(await sent('not a form', type, { 'content-encoding': 'Identity' }), [400, 'BAD_REQUEST']);
  t.deepEqual(await sent('--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc', type), [
    400,
    'BAD_REQUEST',
  ]);
});

test('a part of a form has at most 20 headers of 16 KiB together, however they arrive', async (t) => {
  const post = async (headers: string, { before = '', step = Infinity } = {}): Promise<[number, string]> => {
    const whole = Buffer.from(
      `${before}--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n${headers}\r\nabc\r\n--x--\r\n`,
    );
    const body = new ReadableStream({
      start: (controller) => {
        for (let at = 0; at < whole.byteLength; at += step) controller.enqueue(whole.subarray(at, at + step));
        controller.close();
      },
    });
    const response = await fetch(`${url()}/v1/files/upload`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; charset=utf-8; boundary="x"' },
      body,
      duplex: 'half',
    });
    const { error } = (await response.json()) as Partial<Sent['body']>;
    return [response.status, error?.message ?? ''];
  };
  const headers = (count: number): string => 'A: b\r\n'.repeat(count);
  const large = (size: number): string => `A: ${'b'.repeat(size)}\r\n`;
  const tooMany = [413, 'the headers of the part of the form are more than 20'];
  const tooLarge = [413, 'the headers of the part of the form are larger than 16384 bytes'];
  t.deepEqual(await post(headers(19) + large(0)), tooMany);
  t.deepEqual(await post(headers(30_000)), tooLarge);
  for (const more of [{}, { step: 1000 }, { before: 'a\r\n\r\nb\r\n' }, { step: 1000, before: 'a\r\n\r\nb\r\n' }]) {
    t.is((await post(headers(19), more))[0], 200, JSON.stringify(more));
    t.is((await post(large(16_200), more))[0], 200, JSON.stringify(more));
    t.deepEqual(await post(headers(20), more), tooMany);
    t.deepEqual(await post(large(16_400), more), tooLarge);
    t.deepEqual(await post(large(200_000), more), tooLarge);
  }
  t.is((await post('', { step: 1 }))[0], 200);
});

test('the name of a file that is no UTF-8 is refused, and its bytes may be any', async (t) => {
  const sent = async (name: string): Promise<[number, string]> => {
    const head = `--x\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n`;
    const response = await fetch(`${url()}/v1/files/upload`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
      body: Buffer.from(`${head}\xff\xfe\r\n--x--\r\n`, 'latin1'),
    });
    const { data: file, error } = (await response.json()) as Partial<Sent['body']>;
    return [response.status, error?.message ?? String((file as { readonly filename?: unknown }).filename)];
  };
  t.deepEqual(await sent('na\xefve.txt'), [400, 'the headers of the part of the form are not valid UTF-8']);
  t.deepEqual(await sent('na\xc3\xafve.txt'), [200, 'naïve.txt']);
});

test('a file that is too large is refused, whether its size is announced, wrong or unknown', async (t) => {
  const refused = async (
    body: NonNullable<RequestInit['body']>,
    headers = {},
    message = `the file is larger than ${String(2 * MiB)} bytes`,
  ): Promise<void> => {
    const response = await fetch(`${url()}/v1/files/upload`, { method: 'POST', headers, body, duplex: 'half' });
    const { error } = (await response.json()) as Sent['body'];
    t.deepEqual([response.status, error.code], [413, 'PAYLOAD_TOO_LARGE']);
    t.is(error.message, message);
  };
  const type = { 'content-type': 'multipart/form-data; boundary=x' };
  const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
  const form = new FormData();
  form.append('file', new File([new Uint8Array(2 * MiB + 1)], 'a'));
  await refused(form);
  await refused(Buffer.alloc(3 * MiB), type);
  await refused(new Blob([head, new Uint8Array(2 * MiB + 1), '\r\n--x--']).stream(), type);
  // Bytes in front of the first part are no file, and are bounded too.
  const inFront = 'the headers of the part of the form are larger than 16384 bytes';
  await refused(new Blob([new Uint8Array(3 * MiB)]).stream(), type, inFront);
});

test('an upload that is cut off leaves nothing', async (t) => {
  const outgoing = request(`${url()}/v1/files/upload`, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=x', 'content-length': String(MiB) },
  });
  outgoing.on('error', () => undefined);
  outgoing.write('--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n');
  outgoing.write(Buffer.alloc(200_000));
  await once(outgoing, 'socket');
  outgoing.destroy();
  t.is((await post('after')).status, 200);
});

test('a form that goes wrong after its file leaves nothing of it', async (t) => {
  const one = await openShape('obedient', { FILES_MAX_COUNT: '1' });
  t.teardown(() => one[Symbol.asyncDispose]());
  const sendForm = (body: string): Promise<Response> =>
    fetch(`${one.url}/v1/files/upload`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body,
    });
  const file = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhello';
  const further = '\r\n--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n--b--\r\n';
  t.is((await sendForm(file + further)).status, 422);
  t.is((await sendForm(`${file}\r\n--b--\r\n`)).status, 200, 'the one file that there may be is not taken');
});

test('an address gives its file alone, to anybody, and no other text does', async (t) => {
  const { file_id } = await upload(new Uint8Array(png), 'dot.png', 'image/png');
  const {
    url: path,
    expires_at,
    mime_type,
  } = (await data(t, 'getFileUrl', send('GET', `/v1/files/${file_id}/url`))) as {
    readonly url: string;
    readonly expires_at: number;
    readonly mime_type: string;
  };
  t.is(mime_type, 'image/png');
  t.true(Math.abs(expires_at * 1000 - Date.now() - 600_000) < 60_000);
  t.false(path.includes(file_id));
  const response = await fetch(url() + path);
  t.true(png.equals(Buffer.from(await response.arrayBuffer())));
  t.is(response.headers.get('cross-origin-resource-policy'), 'cross-origin');
  t.is((await fetch(url() + path, { headers: { range: 'bytes=0-3' } })).status, 206);
  for (const other of [
    `${path}A`,
    path.slice(0, -1),
    '/files/',
    '/files/x',
    `/files/${file_id}`,
    `/files/${'A'.repeat(5000)}`,
  ])
    t.is((await fetch(url() + other)).status, 401, other);
  const posted = await fetch(url() + path, { method: 'POST' });
  t.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD']);
});

test('the bounds are told', async (t) => {
  t.like(await data(t, 'getMultimodalConfig', send('GET', '/v1/config/multimodal')), {
    media_storage_type: 'local',
    media_max_size_mb: 2,
    media_max_files: 1000,
  });
});

const naming = (file_id: string): object => ({
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image', file_id },
      ],
    },
  ],
});

test('a file that a state names, and that is not there or no identifier, is refused by its place in the state', async (t) => {
  const thread = `state-${randomBytes(4).toString('hex')}`;
  const made = await send('POST', '/v1/graph/invoke', {
    messages: [{ role: 'user', content: 'hello' }],
    config: { thread_id: thread },
  });
  t.is(made.status, 200);
  for (const name of ['nothing', 'a/b', '', 7]) {
    const hello = { role: 'user', content: 'hello' };
    const context = [hello, { role: 'user', content: [{ type: 'image', file_id: name }] }];
    const config = { thread_id: thread };
    for (const [path, sent, at] of [
      ['/v1/graph/invoke', { messages: [hello], initial_state: { context } }, ['initial_state', 'context', 1]],
      ['/v1/graph/invoke', { messages: context, initial_state: { context: [hello] } }, ['messages', 1]],
      [`/v1/threads/${thread}/state`, { state: { context } }, ['state', 'context', 1]],
    ] as const) {
      const { status, body } = await send('POST', path, { ...sent, config });
      const { details } = body.error as Sent['body']['error'];
      t.deepEqual(
        [status, details[0]?.loc],
        [422, ['body', ...at, 'content', 0, 'file_id']],
        `${path} ${String(name)}`,
      );
    }
  }
});

test('a message that names a file of nobody is refused by its block; one that is there stays with the thread', async (t) => {
  const thread = `naming-${randomBytes(4).toString('hex')}`;
  const file = await upload('hello');
  t.is(
    (await send('POST', '/v1/graph/invoke', { ...naming(file.file_id), config: { thread_id: thread } })).status,
    200,
  );
  for (const path of ['/v1/graph/invoke', '/v1/runs', `/v1/threads/${thread}/messages`]) {
    const { status, body } = await send('POST', path, naming('nothing'));
    const { details } = body.error as Sent['body']['error'];
    t.deepEqual([status, details[0]?.loc], [422, ['body', 'messages', 0, 'content', 1, 'file_id']], path);
  }
  await send('DELETE', `/v1/threads/${thread}`);
  await until(async () => (await send('GET', `/v1/files/${file.file_id}/info`)).status === 404);
});
