import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import OpenAI from 'openai';
import { embeddedOnly } from '../../http/shape.ts';
import { openEmbedded } from '../../servers/embedded.ts';
import { user } from './service.ts';

const readable = (id: string): string =>
  id.replace(/^.*?[_-]/, '').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** Reads what is left of a stream. @returns the error that cut it; `undefined` where it ended as one that is whole */
async function cutOf(events: AsyncIterator<object>): Promise<unknown> {
  try {
    while (!(await events.next()).done);
    return undefined;
  } catch (error) {
    return error;
  }
}

embeddedOnly(
  test,
  'a stream that ends with its process is an error to the client, and its run goes on only where it can be read later',
  async (t) => {
    t.timeout(60_000);
    const folder = await mkdtemp(join(tmpdir(), 'drained-'));
    t.teardown(() => rm(folder, { recursive: true }));
    const env = { DATA_DIR: folder, DRAIN_SECONDS: '1' };
    const service = await openEmbedded('recorded', env);
    const client = new OpenAI({ baseURL: `${service.url}/openai/v1`, apiKey: 'none', maxRetries: 0 });
    const given = { model: 'default', stream: true as const };
    const streams: Readonly<Record<string, AsyncIterable<object>>> = {
      chat: await client.chat.completions.create({ ...given, messages: [user('slow')] }),
      stored: await client.responses.create({ ...given, input: 'slow' }),
      unstored: await client.responses.create({ ...given, input: 'slow', store: false }),
    };
    const runs: Record<string, string> = {};
    const cuts: Promise<unknown>[] = [];
    for (const [name, stream] of Object.entries(streams)) {
      const events = stream[Symbol.asyncIterator]();
      runs[name] = readable(idIn((await events.next()).value as object));
      cuts.push(cutOf(events));
    }
    await service[Symbol.asyncDispose]();
    for (const cut of await Promise.all(cuts)) t.true(cut instanceof Error);
    await using again = await openEmbedded('recorded', env);
    const statusOf = async (api: string): Promise<unknown> => {
      const reply = await fetch(`${again.url}/v1/runs/${runs[api] ?? ''}`);
      return ((await reply.json()) as { data?: { status: string } }).data?.status;
    };
    t.deepEqual([await statusOf('chat'), await statusOf('unstored')], ['stopped', 'stopped']);
    t.true(['queued', 'running'].includes(String(await statusOf('stored'))));
  },
);

const idIn = (event: object | undefined): string => {
  const { id, response } = event as { id?: string; response?: { id: string } };
  return response?.id ?? id ?? '';
};
