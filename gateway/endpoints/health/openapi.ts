import { Type } from 'typebox';
import { endpoint } from '../common/services.ts';

/** The OpenAPI document. */
export const openApi = endpoint({
  name: 'openApi',
  tag: 'health',
  summary: 'Describe this interface',
  method: 'GET',
  path: '/openapi.json',
  answer: 'bare',
  reply: Type.Unsafe<unknown>({ type: 'object' }),
  access: 'every caller',
  handle: (_request, services) => services.openApi(),
});
