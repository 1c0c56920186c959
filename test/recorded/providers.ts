import type { Provider } from './providers/provider.ts';
import { openai } from './providers/openai.ts';
import { azure } from './providers/azure.ts';
import { anthropic } from './providers/anthropic.ts';
import { gemini } from './providers/gemini.ts';
import { mistral } from './providers/mistral.ts';
import { deepseek } from './providers/deepseek.ts';
import { ollama } from './providers/ollama.ts';
import { vllm } from './providers/vllm.ts';
import { llamaCpp } from './providers/llama-cpp.ts';
import { litellm } from './providers/litellm.ts';
import { openrouter } from './providers/openrouter.ts';
import { groq } from './providers/groq.ts';
import { together } from './providers/together.ts';
import { fireworks } from './providers/fireworks.ts';
import { xai } from './providers/xai.ts';
import { lmStudio } from './providers/lm-studio.ts';
import { dashscope } from './providers/dashscope.ts';
import { sglang } from './providers/sglang.ts';

/** Every provider whose shapes the suite replays. */
export const providers: readonly Provider[] = [
  openai,
  azure,
  anthropic,
  gemini,
  mistral,
  deepseek,
  ollama,
  vllm,
  llamaCpp,
  litellm,
  openrouter,
  groq,
  together,
  fireworks,
  xai,
  lmStudio,
  dashscope,
  sglang,
];
