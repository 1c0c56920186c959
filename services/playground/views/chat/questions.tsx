import { randomUuid } from '@agent-workflow/kit/uuid';
import type { Block, JsonObject, RemoteCall } from '@agent-workflow/client';
import { useMemo, useState } from 'preact/hooks';
import { ErrorNote } from '../../ui/error-note.tsx';
import { SchemaFields } from '../../ui/forms/schema-fields.tsx';
import { bareField, formOf, readForm, readJson, type FormTexts } from '../../ui/forms/schema-form.ts';
import { JsonView } from '../../ui/json-view.tsx';
import { browserTools } from './browser-tools.ts';
import type { Chat } from './chat.ts';
import { questionOf, type Question } from './question.ts';

/** What stands in the form of one question. */
interface Answer {
  readonly texts: FormTexts;
  /** How an answer without a form is read. */
  readonly as: 'text' | 'json';
  readonly isLeftOpen: boolean;
}

const emptyAnswer: Answer = { texts: {}, as: 'text', isLeftOpen: false };
const jsonForm = formOf(undefined);

type Read = { readonly value: unknown } | { readonly errors: Readonly<Record<string, string>> };

function readAnswer({ form }: Question, { texts, as }: Answer): Read {
  if (form) {
    const read = readForm(form, texts);
    return read.errors ? { errors: read.errors } : { value: read.value };
  }
  const text = texts[bareField] ?? '';
  if (as === 'text') return { value: text };
  const read = readJson(text);
  return 'error' in read ? { errors: { [bareField]: read.error } } : read;
}

/** The open questions of the nodes: one form for all, of which some may be left open. */
export function Questions({ chat }: { readonly chat: Chat }) {
  const interrupts = chat.conversation.run?.interrupts ?? [];
  const questions = useMemo(() => interrupts.map(questionOf), [chat.conversation.run?.runId, interrupts.length]);
  const [answers, setAnswers] = useState<Readonly<Record<string, Answer>>>({});
  const [errors, setErrors] = useState<Readonly<Record<string, Readonly<Record<string, string>>>>>({});
  const [failure, setFailure] = useState<unknown>();
  const [isSending, setSending] = useState(false);
  const answerOf = (id: string): Answer => answers[id] ?? emptyAnswer;
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const given = questions
      .filter(({ id }) => !answerOf(id).isLeftOpen)
      .map((each) => [each.id, readAnswer(each, answerOf(each.id))] as const);
    const wrong = given.flatMap(([id, read]) => ('errors' in read ? [[id, read.errors] as const] : []));
    setErrors(Object.fromEntries(wrong));
    if (wrong.length > 0 || given.length === 0) return;
    setSending(true);
    setFailure(undefined);
    const resume = Object.fromEntries(given.map(([id, read]) => [id, 'value' in read ? read.value : null]));
    await chat.start({ messages: [], resume }).catch(setFailure);
    setSending(false);
  };
  return (
    <form class="asking stack" aria-label="Questions of the agent" onSubmit={(event) => void onSubmit(event)}>
      {questions.map((question) => (
        <OneQuestion
          key={question.id}
          question={question}
          answer={answerOf(question.id)}
          errors={errors[question.id]}
          mayStayOpen={questions.length > 1}
          onAnswer={(answer) => setAnswers({ ...answers, [question.id]: answer })}
        />
      ))}
      {failure !== undefined && <ErrorNote error={failure} />}
      <div class="row">
        <button type="submit" disabled={isSending || questions.every(({ id }) => answerOf(id).isLeftOpen)}>
          {questions.length > 1 ? 'Send the answers' : 'Send the answer'}
        </button>
      </div>
    </form>
  );
}

interface OneQuestionProps {
  readonly question: Question;
  readonly answer: Answer;
  readonly errors: Readonly<Record<string, string>> | undefined;
  readonly mayStayOpen: boolean;
  readonly onAnswer: (answer: Answer) => void;
}

function OneQuestion({ question, answer, errors, mayStayOpen, onAnswer }: OneQuestionProps) {
  const { node, text, value, form } = question;
  return (
    <fieldset class="stack">
      <legend>{text ?? `The node ${node} asks`}</legend>
      {value !== undefined && <JsonView label={`What else ${node} asks with`} value={value} />}
      {!answer.isLeftOpen && form && (
        <SchemaFields {...{ form, errors }} texts={answer.texts} onChange={(texts) => onAnswer({ ...answer, texts })} />
      )}
      {!answer.isLeftOpen && !form && <FreeAnswer {...{ answer, errors, onAnswer, node }} />}
      {mayStayOpen && (
        <label class="check">
          <input
            type="checkbox"
            checked={answer.isLeftOpen}
            onChange={(event) => onAnswer({ ...answer, isLeftOpen: event.currentTarget.checked })}
          />
          Leave this question open
        </label>
      )}
    </fieldset>
  );
}

function FreeAnswer({
  answer,
  errors,
  onAnswer,
  node,
}: Omit<OneQuestionProps, 'question' | 'mayStayOpen'> & { readonly node: string }) {
  const wrong = errors?.[bareField];
  return (
    <div class="row">
      <label class="grow">
        Answer to {node}
        <textarea
          rows={2}
          aria-invalid={wrong !== undefined}
          value={answer.texts[bareField] ?? ''}
          onInput={(event) => onAnswer({ ...answer, texts: { [bareField]: event.currentTarget.value } })}
        />
      </label>
      <label>
        Sent as
        <select
          value={answer.as}
          onChange={(event) => onAnswer({ ...answer, as: event.currentTarget.value as Answer['as'] })}
        >
          <option value="text">Text</option>
          <option value="json">JSON</option>
        </select>
      </label>
      {wrong !== undefined && (
        <p class="wrong" role="alert">
          The answer {wrong}
        </p>
      )}
    </div>
  );
}

/** The open calls of tools that run where the reader is: by this browser when it has the tool, else by the reader's own hand. */
export function OpenCalls({ chat }: { readonly chat: Chat }) {
  const calls = chat.conversation.run?.calls ?? [];
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const doing = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    await work().catch(setFailure);
    setBusy(false);
  };
  const answer = (call: RemoteCall, output: unknown, isError: boolean): Promise<void> => {
    const block: Block = {
      ...{ type: 'tool_result', call_id: call.id, output, is_error: isError },
      status: isError ? 'failed' : 'completed',
    };
    return chat.start({ messages: [{ role: 'tool', message_id: randomUuid(), content: [block] }] });
  };
  const hasOwn = calls.some(({ name }) => browserTools.some((tool) => tool.name === name));
  return (
    <section class="asking stack" aria-label="Open calls of tools">
      {calls.map((call) => (
        <OpenCall
          key={call.id}
          call={call}
          isBusy={isBusy}
          onAnswer={(...given) => doing(() => answer(call, ...given))}
        />
      ))}
      {hasOwn && (
        <div class="row">
          <button type="button" disabled={isBusy} onClick={() => void doing(chat.runCalls)}>
            Run in this browser once
          </button>
          <p class="hint">Switch tools on in the options to run them without being asked.</p>
        </div>
      )}
      {failure !== undefined && <ErrorNote error={failure} />}
    </section>
  );
}

interface OpenCallProps {
  readonly call: RemoteCall;
  readonly isBusy: boolean;
  readonly onAnswer: (output: unknown, isError: boolean) => Promise<void>;
}

function OpenCall({ call: { name, args }, isBusy, onAnswer }: OpenCallProps) {
  const [text, setText] = useState('');
  const [error, setError] = useState<string>();
  const send = (isError: boolean): void => {
    const read = readForm(jsonForm, { [bareField]: text });
    if (read.errors && !isError) setError(read.errors[bareField]);
    else void onAnswer(read.errors ? text : read.value, isError);
  };
  return (
    <fieldset class="stack">
      <legend>
        The agent calls <code>{name}</code>
      </legend>
      <Arguments name={name} args={args} />
      <label>
        Result of {name}, as JSON
        <textarea
          class="code"
          rows={2}
          spellcheck={false}
          aria-invalid={error !== undefined}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      {error !== undefined && (
        <p class="wrong" role="alert">
          The result {error}
        </p>
      )}
      <div class="row">
        <button type="button" disabled={isBusy} onClick={() => send(false)}>
          Send the result
        </button>
        <button type="button" disabled={isBusy} onClick={() => send(true)}>
          Send as an error
        </button>
      </div>
    </fieldset>
  );
}

const Arguments = ({ name, args }: { readonly name: string; readonly args: JsonObject }) =>
  Object.keys(args).length === 0 ? null : <JsonView label={`Arguments of ${name}`} value={args} />;

/** The calls that this browser makes or has made, while the page is open. */
export function LocalCalls({ chat: { localCalls } }: { readonly chat: Chat }) {
  if (localCalls.value.length === 0) return null;
  const words = { running: 'runs', done: 'has run', failed: 'has failed' } as const;
  return (
    <ul class="local-calls" aria-label="Tools of this browser">
      {localCalls.value.slice(-3).map(({ call, status }) => (
        <li key={call.id} class={status === 'failed' ? 'wrong' : 'hint'}>
          <code>{call.name}</code> {words[status]} in this browser
        </li>
      ))}
    </ul>
  );
}
