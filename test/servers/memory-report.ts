import { renameSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';
import { processEnv } from '@agent-workflow/kit/env';
import { openBlockMeter, type BlockMeter } from '../longest-block.ts';
import { reportPathOf, reportSignal, type MemoryReport } from './memory.ts';

/** Loaded into a process of the service ahead of its own code: at a signal it collects garbage and writes to a file what is left. */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** A thread of its own frees the memory of buffers that were collected: with luck only after several collections. */
const collections = 5;

let meter: BlockMeter | undefined;

async function measure(): Promise<MemoryReport> {
  // A collection is a block, too, but none of the service's doing.
  const longestBlockMs = meter?.longestMs() ?? 0;
  let least: MemoryReport = { residentBytes: Infinity, heldBytes: Infinity, longestBlockMs };
  for (let time = 0; time < collections; time++) {
    collect();
    await wait(50);
    const { rss, heapUsed, arrayBuffers } = process.memoryUsage();
    least = {
      ...least,
      residentBytes: Math.min(rss, least.residentBytes),
      heldBytes: Math.min(heapUsed + arrayBuffers, least.heldBytes),
    };
  }
  meter ??= openBlockMeter();
  meter.reset();
  return least;
}

const folder = processEnv()['MEMORY_REPORTS'];
if (folder !== undefined && isMainThread) {
  process.on(reportSignal, () => {
    void measure().then((report) => {
      const path = reportPathOf(folder, process.pid);
      writeFileSync(`${path}.part`, JSON.stringify(report));
      renameSync(`${path}.part`, path);
    });
  });
}
