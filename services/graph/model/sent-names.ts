import { isCall } from '@agent-workflow/protos/message';
import { toModelNames } from '../build/model-names.ts';
import type { ModelQuestion } from './model.ts';

interface Sent {
  readonly question: ModelQuestion;
  /** The name of a tool by the one that the model reads. */
  readonly nameOf: (sent: string) => string;
}

/** The question with names of tools that every provider takes, in its tools and in the calls of its messages. A name that is one stays. */
export function withSentNames(question: ModelQuestion): Sent {
  const { tools, messages } = question;
  const calls = messages.flatMap(({ content }) => content.filter(isCall));
  const names = toModelNames([...tools, ...calls].map(({ name }) => name));
  const changed = [...names].filter(([name, sent]) => name !== sent);
  if (changed.length === 0) return { question, nameOf: (sent) => sent };
  const given = new Map(changed.map(([name, sent]) => [sent, name]));
  const rename = <T extends { readonly name: string }>(named: T): T => ({
    ...named,
    name: names.get(named.name) ?? named.name,
  });
  return {
    question: {
      ...question,
      tools: tools.map(rename),
      messages: messages.map((message) =>
        message.content.some(isCall)
          ? { ...message, content: message.content.map((block) => (isCall(block) ? rename(block) : block)) }
          : message,
      ),
    },
    nameOf: (sent) => given.get(sent) ?? sent,
  };
}
