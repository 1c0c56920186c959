import { Client, credentials, Metadata, status, type ServiceError as GrpcError } from '@grpc/grpc-js';
import test from 'ava';
import { ServiceError } from '@agent-workflow/kit/errors';
import type { Memory } from '../memory.ts';
import { definitionOf } from './definitions.ts';
import { requestFault } from './listed.ts';
import { serve } from './serve.ts';

const asIs = (bytes: Buffer): Buffer => bytes;

test('a request without a message that it must hold is refused as invalid with the name of the field, and no failure of ours', async (t) => {
  const reached = (): Promise<never> => Promise.reject(new ServiceError('BadRequest', 'it was reached'));
  const memory: Memory = {
    ...{ store: reached, search: reached, get: reached, update: reached },
    ...{ delete: reached, list: reached, forget: reached },
  };
  const failures: string[] = [];
  const onFailure = ({ message }: Error): unknown => failures.push(message);
  await using server = await serve({ memory }, { host: '127.0.0.1', port: 0, drainMs: 100, onFailure });
  const client = new Client(server.address, credentials.createInsecure());
  t.teardown(() => client.close());
  const refusalOf = async (rpc: string, request: Buffer = Buffer.alloc(0)): Promise<GrpcError | null> =>
    new Promise((resolve) => {
      const deadline = { deadline: Date.now() + 5000 };
      const path = `/agent_workflow.memory.v1.Memory/${rpc}`;
      client.makeUnaryRequest(path, asIs, asIs, request, new Metadata(), deadline, resolve);
    });

  for (const rpc of ['List', 'Forget', 'Search']) {
    const refusal = await refusalOf(rpc);
    t.is(refusal?.code, status.INVALID_ARGUMENT, rpc);
    t.is(refusal?.details, 'selection: must be present', rpc);
  }
  const { List } = definitionOf('memory');
  const whole = List?.requestSerialize({ owner: 'o', selection: {}, limit: 1, offset: 0 });
  t.is((await refusalOf('List', whole))?.details, 'it was reached');
  t.deepEqual(failures, []);
});

test('a registration without its definition is refused with the name of the field, and one without what is optional is not', (t) => {
  const { RegisterRevision: rpc } = definitionOf('threads');
  if (!rpc) throw new Error('threads has no RegisterRevision');
  const faultOf = requestFault('threads', rpc);
  t.deepEqual(faultOf(rpc.requestDeserialize(Buffer.alloc(0)))?.details, [
    { field: ['definition'], msg: 'must be present', type: 'missing' },
  ]);
  t.is(faultOf(rpc.requestDeserialize(rpc.requestSerialize({ agent: 'a', definition: {} }))), undefined);
});
