import test from 'ava';
import { openMemoryRunQueue } from '@agent-workflow/execution/adapters/memory';
import { runQueueContract } from './run-queue.ts';

runQueueContract(test, 'in memory', async () => openMemoryRunQueue());
