import t from 'tap';
import { testShortForm } from '../../short-forms.js';

testShortForm(t, 'hostile plugins change nothing that is not theirs', 'fuzz plugins');
