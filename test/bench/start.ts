import { atMost, median, type Figure } from './figure.ts';
import { sendOne, toRequest } from './load.ts';
import type { Bench } from './measure.ts';
import { residentMiB } from './process-counters.ts';
import { startBareKoa, startService, type Server } from './servers.ts';

const starts = 5;
const pingRequest = toRequest('GET', '/v1/ping');

/** How soon the service of `npm start` answers, its compile cache warm, and what it holds when nothing happens. */
export async function start(bench: Bench): Promise<Figure[]> {
  await timeStart(startService);
  const ours: Started[] = [];
  const bare: Started[] = [];
  for (let round = 0; round < starts; round++) {
    ours.push(await timeStart(() => startService({ profileTo: bench.profileTo })));
    bare.push(await timeStart(startBareKoa));
  }
  return [
    figureOf('spawn to first answer', 's', ours, bare, ({ seconds }) => seconds, 0.9),
    figureOf('resident memory, idle', 'MiB', ours, bare, ({ mebibytes }) => mebibytes, 120),
  ];
}

interface Started {
  readonly seconds: number;
  readonly mebibytes: number;
}

async function timeStart(open: () => Promise<Server>): Promise<Started> {
  const begin = performance.now();
  await using server = await open();
  await sendOne(server.port, pingRequest);
  const seconds = (performance.now() - begin) / 1000;
  return { seconds, mebibytes: residentMiB(server.pid) ?? Number.NaN };
}

function figureOf(
  name: string,
  unit: string,
  ours: readonly Started[],
  bare: readonly Started[],
  read: (started: Started) => number,
  bound: number,
): Figure {
  const value = median(ours.map(read));
  const theirs = median(bare.map(read));
  return { name, unit, ours: value, bare: theirs, ratio: value / theirs, aim: atMost(value, bound, ` ${unit}`) };
}
