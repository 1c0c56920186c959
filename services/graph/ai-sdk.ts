/** Models of the AI SDK, for graphs. It needs no package of the AI SDK itself: an author brings a provider. */
export { aiSdkModel, type AiSdkModelOptions } from './model/ai-sdk.ts';
export type { LanguageModel } from './model/ai-sdk-model.ts';
