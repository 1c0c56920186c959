import { connect } from 'node:net';
import { CreateBucketCommand, HeadObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { Client } from 'pg';
import type { ServerName } from './provisioned.ts';
import { exchange } from './real-probe.ts';
import { s3At, toS3Client } from './s3.ts';

/** The least that one can say to a server without its driver: keep something, and is it there. */
interface Talk {
  /** Resolves once the server has acknowledged it. */
  readonly keep: (port: number) => Promise<void>;
  readonly isKept: (port: number) => Promise<boolean>;
}

export const talks: Readonly<Record<ServerName, Talk>> = {
  redis: {
    keep: async (port) => expect('+OK', await exchange(port, 'SET kept something\r\n')),
    isKept: async (port) => (await exchange(port, 'GET kept\r\n')).includes('something'),
  },
  nats: {
    keep: async (port) => {
      const stream = JSON.stringify({ name: 'kept', subjects: ['kept'] });
      expect('"config"', await queryNats(port, '$JS.API.STREAM.CREATE.kept', stream));
      expect('"seq":1', await queryNats(port, 'kept', 'something'));
    },
    isKept: async (port) => (await queryNats(port, '$JS.API.STREAM.INFO.kept')).includes('"messages":1'),
  },
  cassandra: {
    keep: async (port) => {
      const replication = `{'class': 'SimpleStrategy', 'replication_factor': 1}`;
      expect('kept', await queryCassandra(port, `CREATE KEYSPACE kept WITH replication = ${replication}`));
      expect('kept', await queryCassandra(port, 'CREATE TABLE kept.kept (id int PRIMARY KEY, what text)'));
      expect('', await queryCassandra(port, `INSERT INTO kept.kept (id, what) VALUES (1, 'something')`));
    },
    isKept: async (port) => (await queryCassandra(port, 'SELECT what FROM kept.kept')).includes('something'),
  },
  postgres: {
    keep: async (port) => {
      await queryPostgres(port, 'CREATE TABLE kept (what text)');
      await queryPostgres(port, "SET synchronous_commit = on; INSERT INTO kept VALUES ('something')");
    },
    isKept: async (port) =>
      (await queryPostgres(port, "SELECT to_regclass('kept') IS NOT NULL AS it"))[0]?.['it'] === true,
  },
  versitygw: {
    keep: (port) =>
      querySigned(port, async (client) => {
        await client.send(new CreateBucketCommand({ Bucket: 'kept' }));
        await client.send(new PutObjectCommand({ ...keptObject, Body: 'something' }));
      }),
    isKept: (port) =>
      querySigned(port, (client) =>
        client.send(new HeadObjectCommand(keptObject)).then(
          () => true,
          (error: unknown) => {
            if (error instanceof Error && (error.name === 'NotFound' || error.name === 'NoSuchBucket')) return false;
            throw error;
          },
        ),
      ),
  },
  weaviate: {
    keep: async (port) => {
      expect('200', await queryWeaviate(port, 'POST', '/v1/schema', { class: 'Kept', vectorizer: 'none' }));
      expect('200', await queryWeaviate(port, 'POST', '/v1/objects', { class: 'Kept', id: keptId, vector: [1, 0] }));
    },
    isKept: async (port) => (await queryWeaviate(port, 'GET', `/v1/objects/Kept/${keptId}`)) === '200',
  },
};

const keptObject = { Bucket: 'kept', Key: 'kept' };

/** By the driver: every request is signed. */
async function querySigned<T>(port: number, ask: (client: S3Client) => Promise<T>): Promise<T> {
  const client = toS3Client(s3At(port));
  try {
    return await ask(client);
  } finally {
    client.destroy();
  }
}

const keptId = '00000000-0000-4000-8000-000000000001';

function expect(text: string, answer: Buffer | string): void {
  if (!answer.includes(text)) throw new Error(`the server said ${answer.toString()}, and not ${text}`);
}

/** Sends a request and gives what comes back to its inbox; an answer that ends the reading is taken whole. */
async function queryNats(port: number, subject: string, body = ''): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  socket.write(`CONNECT {"verbose":false}\r\nSUB inbox 1\r\nPUB ${subject} inbox ${body.length}\r\n${body}\r\n`);
  let received = '';
  for await (const bytes of socket as AsyncIterable<string>) {
    received += bytes;
    const reply = /^MSG inbox 1 (?:\S+ )?(\d+)\r\n([\s\S]*)\r\n/m.exec(received);
    if (reply && reply[2]?.length === Number(reply[1])) break;
  }
  return received;
}

/** Frames of protocol 4. */
const startup = 1;
const query = 7;
const failed = 0;

/** @returns the body of the answer, or nothing when it is an error. */
/** By the driver: a query takes several messages in each direction. A set of statements answers with the rows of none. */
async function queryPostgres(port: number, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows = [] } = (await client.query(sql)) as { readonly rows?: readonly Record<string, unknown>[] };
    return rows;
  } finally {
    await client.end();
  }
}

async function queryCassandra(port: number, statement: string): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  const text = Buffer.from(statement);
  const [length, one] = [Buffer.alloc(4), Uint8Array.of(0, 1, 0)];
  length.writeInt32BE(text.length);
  const questions = [frame(query, Buffer.concat([length, text, one]))];
  socket.write(frame(startup, Buffer.from('\0\x01\0\x0bCQL_VERSION\0\x053.0.0')));
  let received = Buffer.alloc(0);
  for await (const bytes of socket as AsyncIterable<Buffer>) {
    received = Buffer.concat([received, bytes]);
    const end = received.length < 9 ? Infinity : 9 + received.readInt32BE(5);
    if (received.length < end) continue;
    const question = questions.pop();
    if (!question) break;
    received = received.subarray(end);
    socket.write(question);
  }
  return received[4] === failed ? Buffer.alloc(0) : received.subarray(9);
}

function frame(opcode: number, body: Buffer): Buffer {
  const head = Buffer.from([4, 0, 0, 0, opcode, 0, 0, 0, 0]);
  head.writeInt32BE(body.length, 5);
  return Buffer.concat([head, body]);
}

/** @returns the status. */
async function queryWeaviate(port: number, method: string, path: string, body?: unknown): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  await reply.arrayBuffer();
  return String(reply.status);
}
