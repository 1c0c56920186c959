import { Type } from 'typebox';
import { endpoint } from '../common/services.ts';

/** The description of this interface. */
export const openApi = endpoint({
  name: 'openApi',
  tag: 'health',
  summary: 'Describe this interface',
  method: 'GET',
  path: '/openapi.json',
  answer: 'bare',
  reply: Type.Unsafe<unknown>({ type: 'object' }),
  handle: (_ask, services) => services.openApi(),
});
