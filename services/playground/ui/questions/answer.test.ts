import test from 'ava';
import { checkAnswer, checkAnswers, faultsLeft, firstAnswer, typedText, type Answer } from './answer.ts';
import { questionOf } from './question.ts';

const asked = (value: unknown) => questionOf({ id: 'i', node: 'ask', value });
const typed = (texts: Answer['texts'], as: Answer['as'] = 'text'): Answer => ({ texts, as, isLeftOpen: false });

test('an answer of nothing but space is refused, to a plain question and to a schema of one text', async (t) => {
  for (const question of [asked('Who?'), asked({ question: 'Who?', schema: { type: 'string' } })]) {
    t.deepEqual(await checkAnswer(question, typed({ value: ' \n' })), { errors: { value: 'is empty' } });
    t.deepEqual(await checkAnswer(question, typed({})), { errors: { value: 'is empty' } });
    t.deepEqual(await checkAnswer(question, typed({ value: ' Ada' })), { value: ' Ada' });
  }
  t.deepEqual(await checkAnswer(asked('Who?'), typed({ value: '""' }, 'json')), { value: '' });
  t.true('errors' in (await checkAnswer(asked('Who?'), typed({}, 'json'))));
});

test('the form of a question begins with the defaults of its schema', async (t) => {
  const question = asked({
    question: 'Where?',
    schema: {
      properties: {
        city: { type: 'string', default: 'Lisbon' },
        days: { type: 'integer', default: 3 },
        season: { enum: ['summer', 'winter'], default: 'winter' },
        hotel: { enum: ['good', 'bad'], default: 'best' },
        extras: { type: 'array', items: { enum: ['sauna', 'bikes'] }, default: ['bikes'] },
        notes: { type: 'string' },
      },
    },
  });
  t.deepEqual(await checkAnswer(question, firstAnswer(question)), {
    value: { city: 'Lisbon', days: 3, season: 'winter', extras: ['bikes'] },
  });
});

test('a fault goes when its field is mended, changes with it, and stays while another field is typed in', (t) => {
  const schema = { properties: { code: { type: 'string', minLength: 3 }, days: { type: 'integer', minimum: 1 } } };
  const question = asked({ question: 'What?', schema });
  const before = typed({ code: 'a', days: '0' });
  const faults = { code: 'must match the pattern', days: 'must be at least 1' };
  const after = (texts: Answer['texts']) => faultsLeft(question, faults, before, typed(texts));
  t.deepEqual(after({ code: 'a', days: '2' }), { code: 'must match the pattern' });
  t.deepEqual(after({ code: 'ab', days: '0' }), {
    code: 'must have at least 3 characters',
    days: 'must be at least 1',
  });
  t.deepEqual(after({ code: 'abc', days: '0' }), { days: 'must be at least 1' });
});

test('what was typed is read as a text, a line a field, and nothing of space alone', (t) => {
  t.deepEqual(typedText(typed({ value: 'Ada\nLovelace' })), ['Ada\nLovelace']);
  t.deepEqual(typedText(typed({ city: 'Lisbon', days: '3', notes: ' ' })), ['city: Lisbon\ndays: 3']);
  t.deepEqual(typedText(typed({ value: ' ' })), []);
  t.deepEqual(typedText(undefined), []);
});

test('several answers are read together, or all that is wrong with them', async (t) => {
  const [who, when] = [
    questionOf({ id: 'who', node: 'ask', value: 'Who?' }),
    questionOf({ id: 'when', node: 'ask', value: { question: 'When?', schema: { type: 'integer' } } }),
  ];
  const answers = (name: string, day: string) =>
    checkAnswers([
      [who, typed({ value: name })],
      [when, typed({ value: day })],
    ]);
  t.deepEqual(await answers('Ada', '3'), { resume: { who: 'Ada', when: 3 } });
  t.deepEqual(await answers(' ', 'soon'), {
    errors: { who: { value: 'is empty' }, when: { value: 'must be a whole number' } },
  });
});
