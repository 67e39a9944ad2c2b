import t from 'tap';
import { testShortForm } from '../short-forms.js';

testShortForm(t, 'no figure grows under mixed traffic', 'soak');
