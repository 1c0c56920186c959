import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { getAssistant } from '../../../assistants/index.ts';
import type { Services } from '../../common/services.ts';
import { offersOf } from '../offers/offers.ts';
import { fieldsOf, isObject, textIn, type Fields } from '../wire/fields.ts';
import { invalidParams } from '../wire/rpc-error.ts';
import type { McpRequest, Method } from './method.ts';
import { listThreads, threadTemplate } from './threads.ts';

/** Completes the id of a thread. Of what agents offer nothing is known that could be completed. @throws RpcError for a reference to nothing */
export const complete: Method = async ({ request, params }, services) => {
  const { ref, argument } = params;
  if (!isObject(ref) || !isObject(argument) || textIn(argument['name']) === undefined)
    throw invalidParams('ref and argument, with its name, are required');
  const isThread = ref['type'] === 'ref/resource' && ref['uri'] === threadTemplate['uriTemplate'];
  if (!isThread && !(await isThere(ref, request, services))) throw invalidParams('ref is to nothing that is offered');
  const begun = textIn(argument['value']) ?? '';
  const { resources } = isThread ? await listThreads(request, undefined, services) : { resources: [] };
  const values = resources.map(({ name }) => String(name)).filter((name) => name.startsWith(begun));
  return { completion: { ...fieldsOf({ values, total: values.length }), hasMore: false } };
};

/** Whether a prompt or a template is offered, or an assistant of the caller has the name. */
async function isThere(
  { type, name, uri }: Fields,
  { owner, call }: McpRequest['request'],
  { execution, threads }: Pick<Services, 'execution' | 'threads'>,
): Promise<boolean> {
  const { prompts, resources, templates } = await offersOf(execution, call);
  if (type === 'ref/resource')
    return templates.some(({ template }) => template === uri) || resources.has(textIn(uri) ?? '');
  const id = textIn(name) ?? '';
  if (type !== 'ref/prompt' || id === '') return false;
  return prompts.has(id) || (await undefinedIfNotFound(getAssistant(threads, { owner, id }, call))) !== undefined;
}
