import test from 'ava';
import { link } from '@agent-workflow/protos/wire/link';
import { overGrpc, wireContract } from './wire.ts';

wireContract(test, 'in process', (service) =>
  Promise.resolve({ ...link(service), [Symbol.asyncDispose]: () => Promise.resolve() }),
);

wireContract(test, 'over gRPC', overGrpc);
