import { answerMs, loopKinds, toolRounds, type LoopKind } from './agents.ts';
import { openMeasuredCluster } from './cluster.ts';
import { median, type Figure } from './figure.ts';
import { openCaller, toRequest } from './load.ts';
import { startService } from './servers.ts';

const requests = Object.fromEntries(loopKinds.map((kind) => [kind, requestOf(kind)])) as Readonly<
  Record<LoopKind, ReturnType<typeof toRequest>>
>;

function requestOf(kind: LoopKind): ReturnType<typeof toRequest> {
  const messages = [{ role: 'user', content: kind }];
  return toRequest('POST', '/v1/graph/invoke', { messages, response_granularity: 'low' });
}

/**
 * What an iteration of the tool loop takes beside the time of its model: where the model is asked after the commit before or during it, and
 * where the tool is pure.
 */
export async function speculative(seconds: number): Promise<Figure[]> {
  await using service = await startService({ agent: 'pacedLoop' });
  const embedded = await inTurns(service.port, seconds);
  await using cluster = await openMeasuredCluster({ agent: 'pacedLoop' });
  const [port = 0] = cluster.ports;
  await inTurns(port, 3 * seconds);
  return [...toFigures('cluster', await inTurns(port, seconds)), ...toFigures('embedded', embedded)];
}

type Times = Readonly<Record<LoopKind, number>>;

/** One caller, a run of each kind after the other. @returns the time of an iteration beside its model's, p50, in milliseconds. */
async function inTurns(port: number, seconds: number): Promise<Times> {
  using caller = await openCaller(port);
  const times: Readonly<Record<LoopKind, number[]>> = { late: [], early: [], fused: [], fusedEarly: [] };
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until)
    for (const kind of loopKinds) times[kind].push((await caller.send(requests[kind])).ms);
  // The model is asked once more than tools are called.
  const perRound = (kind: LoopKind): number => (median(times[kind]) - (toolRounds + 1) * answerMs) / toolRounds;
  return {
    ...{ late: perRound('late'), early: perRound('early') },
    ...{ fused: perRound('fused'), fusedEarly: perRound('fusedEarly') },
  };
}

const toFigures = (where: string, { late, early, fused, fusedEarly }: Times): Figure[] => [
  { name: `${where}: iteration beside its model's ${String(answerMs)} ms, p50`, unit: 'ms', ours: late },
  { name: '  the same, the model speculative', unit: 'ms', ours: early },
  { name: '  the same, the tool pure', unit: 'ms', ours: fused },
  { name: '  the same, both', unit: 'ms', ours: fusedEarly },
];
