import test from 'ava';
import { queryTermsOf, termsOf, termsText, termsVersion } from './terms.ts';

// Stores keep the version with their index. When a line below changes, the version changes with it.
test('the terms of version 3 are these', (t) => {
  t.is(termsVersion, 3);
  for (const [text, terms] of [
    ['The trains were LEAVING', 'the train +trai were +were leav +leav +eavi +avin +ving'],
    ['ＡＢＣ株式会社', 'abc 株 式 会 社 株式 式会 会社'],
    ['引っ越しはカタカナ', '引 っ 越 しは カタ タカ カナ'],
    ['แพ้กุ้ง', 'แพ พ้ ้ก กุ ุ้ ้ง แพ้ พ้ก ้กุ กุ้ ุ้ง'],
    ['ชา', 'ชา'],
    ['차에서 커피를', '차에 에서 차 커피 피를'],
    ['Straße', 'strass +stra +tras +rass +asse'],
    ['cafe\u0301 İ ı', 'cafe +cafe i i'],
    ['x1y2 3.14 a_b', 'x1y2 +x1y2 3 14 a b'],
    ['!? \n', ''],
  ] as const)
    t.deepEqual([termsOf(text).join(' '), termsText(text, ' /')], [terms, terms.replace(/^(?=.)| /g, ' /')]);
});

test('a query has each term once, whole words first, and no more than 128', (t) => {
  t.deepEqual(queryTermsOf('leaving leaving now'), ['leav', 'now', '+leav', '+avin']);
  t.deepEqual([queryTermsOf('แพ้ก'), queryTermsOf('ชา')], [['แพ้', 'พ้ก'], ['ชา']]);
  t.is(queryTermsOf(Array.from({ length: 500 }, (_, n) => `word${String(n)}`).join(' ')).length, 128);
});
