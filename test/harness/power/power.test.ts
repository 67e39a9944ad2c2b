import t from 'tap';
import { missing } from '../../support/installed.js';
import { testShortForm } from '../short-forms.js';

const skip = missing('strace', ['-f', '--seccomp-bpf', '-o', '/dev/null', 'true']);
testShortForm(t, 'nothing that was promised is lost when the power fails', 'power', skip);
