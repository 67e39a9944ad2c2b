import t from 'tap';
import { testShortForm } from '../short-forms.js';

testShortForm(t, 'nothing that was promised is lost in a crash', 'crash');
