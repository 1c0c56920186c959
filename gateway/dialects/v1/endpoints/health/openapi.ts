import { JsonObject } from '../../schemas/common.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

/** The OpenAPI document. */
export const openApi = endpoint({
  name: 'openApi',
  tag: 'health',
  summary: 'Describe this interface',
  description: 'This document, as JSON. No credentials are needed. `/docs/api` shows it to people.',
  example: examples.openApi,
  method: 'GET',
  path: '/openapi.json',
  answer: 'bare',
  reply: JsonObject,
  access: 'every caller',
  handle: (_request, services) => services.openApi(),
});
