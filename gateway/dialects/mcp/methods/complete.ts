import { isObject, textIn } from '../wire/fields.ts';
import { invalidParams } from '../wire/rpc-error.ts';
import { fieldsOf } from '../wire/fields.ts';
import { listThreads, threadTemplate } from './threads.ts';
import type { Method } from './method.ts';

/** Completes the id of a thread. Of what agents offer nothing is known that could be completed. */
export const complete: Method = async ({ request, params }, services) => {
  const { ref, argument } = params;
  if (!isObject(ref) || !isObject(argument)) throw invalidParams('ref and argument are required');
  const begun = textIn(argument['value']) ?? '';
  const isThread = ref['type'] === 'ref/resource' && ref['uri'] === threadTemplate['uriTemplate'];
  const { resources } = isThread ? await listThreads(request, undefined, services) : { resources: [] };
  const values = resources.map(({ name }) => String(name)).filter((name) => name.startsWith(begun));
  return { completion: { ...fieldsOf({ values, total: values.length }), hasMore: false } };
};
