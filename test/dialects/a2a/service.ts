import { ClientFactory, ClientFactoryOptions, type Client } from '@a2a-js/sdk/client';
import type { Message, SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk';
import { Role } from '@a2a-js/sdk';
import type { TestFn } from 'ava';
import { openShape } from '../../http/shape.ts';
import { agentAt } from '../../servers/standalone.ts';

/** The bindings of A2A that its client speaks. */
export const bindings = ['JSONRPC', 'HTTP+JSON'] as const;

/** The agents of the tests as agents of A2A. */
interface A2aService {
  /** Where the service is. */
  readonly url: () => string;
  /** A2A's own client of an agent. */
  readonly client: (agent: string, binding?: (typeof bindings)[number]) => Promise<Client>;
}

const agents = Object.fromEntries(
  ['obedient', 'recorded', 'typing', 'configured', 'echo', 'asking', 'stepping'].map((name) => [name, agentAt(name)]),
);

/** Starts the service before the tests of the file and ends it after them. */
export function serveA2a(test: TestFn, env: Readonly<Record<string, string>> = {}, service: object = {}): A2aService {
  let url = '';
  const opened = new AsyncDisposableStack();
  test.serial.before(async () => {
    const started = opened.use(await openShape(null, env, { agents, default_agent: 'obedient', ...service }));
    ({ url } = started);
  });
  test.after.always(() => opened.disposeAsync());
  return {
    url: () => url,
    client: (agent, binding = 'JSONRPC') =>
      new ClientFactory({ ...ClientFactoryOptions.default, preferredTransports: [binding] }).createFromUrl(
        `${url}/a2a/${agent}/`,
      ),
  };
}

/** A message of a user. */
export const saying = (text: string, more: Partial<Message> = {}): SendMessageRequest => ({
  tenant: '',
  message: {
    ...{ messageId: crypto.randomUUID(), contextId: '', taskId: '', role: Role.ROLE_USER },
    parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
    ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
    ...more,
  },
  configuration: undefined,
  metadata: undefined,
});

/** Whether a reply is a task, as all of this service are. */
export const asTask = (reply: Message | Task): Task => {
  if (!('status' in reply)) throw new Error('the reply is a message');
  return reply;
};

/** The texts of the artifacts of a task, of each in one. */
export const textsOf = ({ artifacts }: Pick<Task, 'artifacts'>): readonly string[] =>
  artifacts.map(({ parts }) =>
    parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : [])).join(''),
  );

type Payload = NonNullable<StreamResponse['payload']>;

/** All that a stream has. */
export async function readAll(stream: AsyncIterable<StreamResponse>): Promise<readonly Payload[]> {
  const read: Payload[] = [];
  for await (const { payload } of stream) if (payload) read.push(payload);
  return read;
}

/** The artifacts that a reader has who takes the updates of a stream one after the other: the text of each by its id. */
export function gathered(payloads: readonly Payload[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const payload of payloads) {
    if (payload.$case !== 'artifactUpdate') continue;
    const { artifact, append } = payload.value;
    if (!artifact) continue;
    const [text = ''] = textsOf({ artifacts: [artifact] });
    texts.set(artifact.artifactId, append ? `${texts.get(artifact.artifactId) ?? ''}${text}` : text);
  }
  return texts;
}
