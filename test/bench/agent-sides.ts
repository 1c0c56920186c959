import { atMost, median, type Figure } from './figure.ts';
import { openCaller, toRequest } from './load.ts';

/** The most that the service registers. */
export const most = 100;
export const names = Array.from({ length: most }, (_, index) => `agent-${String(index).padStart(2, '0')}`);
export const [first = ''] = names;

const rounds = 10;

interface Operation {
  readonly name: string;
  /** The request of a call by its number. The calls of a side come one after the other, so that no two runs are under way on one thread. */
  readonly request: (index: number, of: Pick<Side, 'agents' | 'threadOf' | 'nextRouting'>) => Buffer;
  /** Only where agents have revisions. */
  readonly ofRevisions?: true;
}

const pathTo = (path: string) => (): Buffer => toRequest('GET', path);
const messages = [{ role: 'user', content: 'hello there' }];
const nameOf = (agents: readonly string[], index: number): string => agents[index % agents.length] ?? first;

/** What is compared. Runs are started for each agent in turn. */
const operations: readonly Operation[] = [
  { name: 'list of 100 threads', request: pathTo('/v1/threads?limit=100') },
  { name: 'list of 100 runs', request: pathTo('/v1/runs?limit=100') },
  { name: 'list of 100 runs of one agent', request: pathTo(`/v1/runs?agent=${first}&limit=100`) },
  { name: 'one agent', request: pathTo(`/v1/agents/${first}`) },
  {
    name: 'accept a run',
    request: (index, { agents }) =>
      toRequest('POST', '/v1/runs', { messages, config: { agent: nameOf(agents, index) } }),
  },
  {
    name: 'invoke, new thread',
    request: (index, { agents }) =>
      toRequest('POST', '/v1/graph/invoke', {
        ...{ messages, response_granularity: 'low' },
        config: { agent: nameOf(agents, index) },
      }),
  },
  {
    name: 'invoke, thread of its agent',
    request: (index, { threadOf }) =>
      toRequest('POST', '/v1/graph/invoke', {
        ...{ messages, response_granularity: 'low' },
        config: { thread_id: threadOf(index) },
      }),
  },
  {
    name: 'change of the routing',
    request: (_, { nextRouting }) => toRequest('PUT', `/v1/agents/${first}/routing`, nextRouting?.()),
    ofRevisions: true,
  },
];

export interface Side extends AsyncDisposable {
  /** Those that runs are started for, in turn. */
  readonly agents: readonly string[];
  /** A thread of theirs for a call by its number. */
  readonly threadOf: (index: number) => string;
  /** The next change of the routing of the first agent; absent where agents have no revisions. */
  readonly nextRouting?: () => object;
  readonly port: number;
  /** Processor time of what serves it, in milliseconds. */
  readonly cpu: () => number;
}

/** Each operation on both sides in turns, the first of them changing from round to round. */
export async function compare(many: Side, one: Side, seconds: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const operation of operations.filter(({ ofRevisions }) => !ofRevisions || many.nextRouting)) {
    process.stderr.write(`  ${operation.name} …\n`);
    for (const side of [many, one]) await measure(side, operation, seconds / 2);
    const measured: (readonly [Sample, Sample])[] = [];
    for (let round = 0; round < rounds; round++) {
      const order = round % 2 === 0 ? [many, one] : [one, many];
      const samples = new Map<Side, Sample>();
      for (const side of order) samples.set(side, await measure(side, operation, seconds / rounds));
      measured.push([samples.get(many) as Sample, samples.get(one) as Sample]);
    }
    figures.push(...toFigures(operation.name, measured));
  }
  return figures;
}

interface Sample {
  readonly ms: number;
  readonly cpu: number;
  readonly replies: number;
}

let sent = 0;

/** One caller, one request after the other, for so long. */
async function measure(side: Side, { request }: Operation, seconds: number): Promise<Sample> {
  const times: number[] = [];
  using caller = await openCaller(side.port);
  const before = side.cpu();
  const until = performance.now() + seconds * 1000;
  do times.push((await caller.send(request(sent++, side))).ms);
  while (performance.now() < until);
  return { ms: median(times), cpu: side.cpu() - before, replies: times.length };
}

function toFigures(name: string, measured: readonly (readonly [Sample, Sample])[]): Figure[] {
  const time = median(measured.map(([many, one]) => many.ms / one.ms));
  const cpu = cpuEach(measured.map(([many]) => many)) / cpuEach(measured.map(([, one]) => one));
  return [
    {
      ...{ name: `${name}, ${most} agents, p50`, unit: 'ms', ours: median(measured.map(([many]) => many.ms)) },
      rounds: measured.map(([many, one]) => [many.ms, one.ms]),
    },
    { name: '  ÷ one agent', unit: '×', ours: time, aim: atMost(time, 1.1, ' ×') },
    { name: '  processor time ÷ one agent', unit: '×', ours: cpu, aim: atMost(cpu, 1.1, ' ×') },
  ];
}

/** Processor time is counted in hundredths of a second, so that of all rounds is taken together. */
const cpuEach = (samples: readonly Sample[]): number =>
  samples.reduce((sum, { cpu }) => sum + cpu, 0) / samples.reduce((sum, { replies }) => sum + replies, 0);
